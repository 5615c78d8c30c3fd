import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Uid } from '@berth/server/api/uid.ts'
import { fileBlobs } from '@berth/server/registry/blobs/files/file-system.ts'
import { commitUpload } from '@berth/server/registry/blobs/stored-blobs.ts'
import { parseDigest } from '@berth/server/registry/manifests/digests.ts'
import { type Db, openSqliteDb } from '@berth/server/storage/db.ts'
import { databaseFailure } from '@berth/server/storage/engines/postgres/errors.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import { temporaryDirectory } from '../support/server/process.ts'

const failures = {
  'the disk of the database fails': { code: '58030', severity: 'PANIC' },
  'the disk of the database is full': { code: '53100', severity: 'PANIC' },
  'the connection breaks': { code: 'ECONNRESET' },
} as const

for (const [what, failure] of Object.entries(failures))
  test(`a blob with a commit of unknown outcome keeps its bytes, and its upload can be finished again: ${what}`, async (t) => {
    const directory = temporaryDirectory(t)
    const own = await openSqliteDb(join(directory, 'berth.db'))
    t.after(() => own.close())
    await migrate(own)
    const db: Db = {
      ...own,
      async transaction(work, options) {
        await own.transaction(work, options)
        throw databaseFailure(Object.assign(new Error('at commit'), failure), 'commit')
      },
    }
    const blobs = fileBlobs(join(directory, 'blobs'))
    const bytes = Buffer.from('layer')
    const digest = parseDigest(`sha256:${createHash('sha256').update(bytes).digest('hex')}`)
    const pieces = async function* () {
      yield bytes
    }
    const readBlob = async (location: string) => {
      const read: Uint8Array[] = []
      for await (const piece of blobs.read(location, { start: 0, end: bytes.length }))
        read.push(Uint8Array.from(piece))
      return Buffer.concat(read)
    }
    const upload = await blobs.append({ id: 'a1', size: 0, state: '' }, pieces())
    const store = { db, clock: Date.now } as Parameters<typeof commitUpload>[0]['store']
    await assert.rejects(
      commitUpload({ store, blobs }, upload, digest, {
        repo: 'a'.repeat(40) as Uid,
        isResumable: true,
        link: async () => undefined,
        end: async () => undefined,
      }),
      { reason: 'OUTCOME_UNKNOWN' },
    )
    const other = 'sha256/00/the-upload-as-another-blob'
    await blobs.commit(upload, other)
    assert.deepEqual(await readBlob(other), bytes, 'the upload can be finished again')
    const row = await own.kysely.selectFrom('blobs').selectAll().executeTakeFirstOrThrow()
    assert.deepEqual(await readBlob(row.location), bytes)
  })
