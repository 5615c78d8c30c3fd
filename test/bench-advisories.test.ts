import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createDocumentReader } from '@berth/server/advisories/documents/document-reader.ts'
import { importDocument } from '@berth/server/advisories/import/import-documents.ts'
import type { Uid, UidGenerator } from '@berth/server/api/uid.ts'
import type { Db } from '@berth/server/storage/db.ts'
import type { Tables } from '@berth/server/storage/schema/tables.ts'
import { documentOf } from '../bench/advisories/documents.ts'
import { documentsFor, loadDocuments, nameOf } from '../bench/advisories/load.ts'
import { yamlOf } from '../bench/advisories/yaml.ts'
import { onEveryDatabase } from './support/api/api-fixture.ts'

// The benchmark's half a million advisories are loaded past the API: row for row what an import writes.

const DOCUMENTS = 15
const NOW = Date.UTC(2026, 0, 1)

const tables = [
  'advisories',
  'advisory_postings',
  'advisory_posting_counts',
  'advisory_suffixes',
  'advisory_sources',
  'advisory_documents',
] as const satisfies readonly (keyof Tables)[]

/** Uids in a row, so that two groups get the same ones. */
function numbered(): UidGenerator {
  let last = 0
  return {
    root: () => assert.fail(),
    child: () => assert.fail(),
    timeOrderedChild: (parent) => `${parent}/${(++last).toString(16).padStart(16, '0')}` as Uid,
  }
}

async function rowsBelow({ kysely }: Db, root: string): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for (const table of tables) {
    const rows = await kysely
      .selectFrom(table as 'advisories')
      .selectAll()
      .where('root', '=', root)
      .execute()
    found[table] = rows.map((row) => printOf(row).replaceAll(root, 'ROOT')).sort()
  }
  const groups = await kysely.selectFrom('advisory_groups').selectAll().where('root', '=', root).execute()
  found['advisory_groups'] = groups.map((row) => printOf(row).replaceAll(root, 'ROOT'))
  return found
}

/** Bytes as text, since uids of events are in them. */
function printOf(row: object): string {
  const values = Object.entries(row).map(([column, value]) => [
    column,
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
  ])
  return JSON.stringify(values)
}

onEveryDatabase('advisories of the benchmark', (cast) => {
  const reader = createDocumentReader()
  after(() => reader.close())

  test('loading them writes what importing them writes', async () => {
    const { db } = cast().berth.berth.installation.store
    const [loaded, imported] = await Promise.all([cast().organization(), cast().organization()])
    const parts = { db, clock: () => NOW }
    const count = await loadDocuments({ ...parts, uids: numbered() }, loaded.uid as Uid, DOCUMENTS)
    const store = { ...parts, uids: numbered() }
    const event = { actor: 'somebody', method: 'import', requestId: '', address: '' }
    const options = { store, reader, parent: imported.uid as Uid, dryRun: false, event }
    let created = 0
    for (let document = 0; document < DOCUMENTS; document++) {
      const expected = documentOf(document)
      const content = Buffer.from(yamlOf(expected))
      const written = await importDocument({ name: nameOf(expected.package), format: '', content }, options)
      assert.ok('created' in written, JSON.stringify(written))
      assert.deepEqual(written.unmapped, [])
      created += written.created
    }
    assert.equal(created, count)
    const [a, b] = [await rowsBelow(db, loaded.uid), await rowsBelow(db, imported.uid)]
    for (const [table, rows] of Object.entries(b)) {
      assert.ok(rows.length > 0)
      const same = new Set(a[table])
      assert.equal(a[table]?.length, rows.length, table)
      assert.equal(
        rows.find((row) => !same.has(row)),
        undefined,
        table,
      )
    }
    for (const organization of [loaded, imported]) {
      const { api } = await organization.member('advisories.admin')
      const { body } = await api.get('vulnerabilities/advisories', { page_size: '1' })
      assert.equal(body.totalCount, String(count))
    }
  })
})

test('they are many, with four events each on average', () => {
  const documents = documentsFor(20_000)
  const advisories = Array.from({ length: documents }, (_, at) => documentOf(at)).flatMap(
    (one) => one.advisories,
  )
  const events = advisories.flatMap((advisory) => advisory.events).length
  assert.ok(Math.abs(advisories.length / documents - 17) < 2, `${advisories.length / documents} a document`)
  assert.ok(Math.abs(events / advisories.length - 4) < 0.2, `${events / advisories.length} events each`)
  assert.equal(new Set(advisories.map(({ id }) => id)).size, advisories.length)
})
