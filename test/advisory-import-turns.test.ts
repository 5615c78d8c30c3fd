import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importDocument } from '@berth/server/advisories/import/import-documents.ts'
import type { Uid } from '@berth/server/api/uid.ts'
import { readOrThrow } from './support/advisories/advisory-documents.ts'
import { onEveryDatabase } from './support/api/api-fixture.ts'

/** A large document of one organization does not delay others. */

const STATEMENTS = 4000

const openvex = Buffer.from(
  JSON.stringify({
    '@context': 'https://openvex.dev/ns/v0.2.0',
    '@id': 'https://example.com/vex',
    timestamp: '2024-01-01T00:00:00Z',
    statements: Array.from({ length: STATEMENTS }, (_, at) => ({
      vulnerability: { name: `CVE-2024-${10_000 + at}` },
      products: [`pkg:apk/wolfi/package-${at}@1.0.0-r0`],
      status: 'fixed',
    })),
  }),
)

onEveryDatabase(
  'the writing of a large document',
  (cast) => {
    test('lets others read, who see all of it or none', async (t) => {
      const { uid, member } = await cast().organization()
      const { api } = await member('advisories.admin')
      const document = readOrThrow('vex.json', openvex)
      let isWritten = false
      const importing = importDocument(
        { name: 'vex.json', format: '', content: openvex },
        {
          store: cast().berth.berth.installation.store,
          // Read before, so that all the time is that of the writing.
          reader: { read: async () => ({ document }), close: async () => {} },
          parent: uid as Uid,
          dryRun: false,
          event: { actor: uid, method: 'a', requestId: 'b', address: '' },
        },
      ).finally(() => {
        isWritten = true
      })
      const seen: string[] = []
      const waits: number[] = []
      while (!isWritten) {
        const startMs = performance.now()
        const [{ status }, { body }] = await Promise.all([
          cast().admin.get(`iam/groups/${uid}`),
          api.get('vulnerabilities/advisories', { page_size: '1' }),
        ])
        waits.push(performance.now() - startMs)
        assert.equal(status, 200)
        seen.push(body.totalCount)
      }
      const { created } = (await importing) as { readonly created: number }
      assert.equal(created, STATEMENTS)
      t.diagnostic(`${seen.length} answers, the slowest after ${Math.max(...waits).toFixed()} ms`)
      assert.ok(seen.length >= 10, `${seen.length} answers while the document was written`)
      // The last may have been asked after the end.
      assert.deepEqual(
        seen.filter((count) => !['0', `${STATEMENTS}`].includes(count)),
        [],
      )
      const { body } = await api.get('vulnerabilities/advisories', { page_size: '1' })
      assert.equal(body.totalCount, `${STATEMENTS}`)
    })
  },
  { only: 'sqlite' },
)
