import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ApiError } from '@berth/server/api/errors.ts'
import { asApiError, storageFaultOf } from '@berth/server/api/storage-faults.ts'
import { type Db, inTransaction, openSqliteDb, type Tx } from '@berth/server/storage/db.ts'
import { migrate, migrations } from '@berth/server/storage/schema/migrate.ts'
import { CompiledQuery, sql } from 'kysely'
import { temporaryDirectory } from '../support/server/process.ts'

/** A SQLite database that may not grow, on any machine; test/full-disk.test.ts fills disks. */

const SPARE_PAGES = 6

async function smallDatabase(t: TestContext): Promise<Db> {
  const db = await openSqliteDb(join(temporaryDirectory(t), 'berth.db'))
  t.after(() => db.close())
  await sql`create table notes (id text primary key, note text)`.execute(db.kysely)
  const [row] = await db.read<{ page_count: number }>('pragma page_count', [])
  const pages = (row?.page_count ?? 0) + SPARE_PAGES
  await limitPages(db, pages)
  return db
}

const write = (tx: Tx, id: string, length: number) =>
  sql`insert into notes values (${id}, ${'x'.repeat(length)})`.execute(tx)
const LARGE = 200_000

async function idsIn(db: Db): Promise<string[]> {
  return (await db.read<{ id: string }>('select id from notes order by id', [])).map(({ id }) => id)
}

const limitPages = (db: Db, pages: number) =>
  db.kysely.executeQuery(CompiledQuery.raw(`pragma max_page_count = ${pages}`))

test('a database without space for the tables stays empty, says so, and gets them when there is space', async (t) => {
  const db = await openSqliteDb(join(temporaryDirectory(t), 'berth.db'))
  t.after(() => db.close())
  await limitPages(db, 20)
  await assert.rejects(migrate(db), (error: Error) => {
    assert.match(error.message, /schema could not be brought up to date/)
    return storageFaultOf(error)?.fault === 'full'
  })
  assert.deepEqual(await db.read('select name from sqlite_schema', []), [])
  await limitPages(db, 10_000)
  assert.deepEqual(await migrate(db), Object.keys(migrations))
})

test('of changes that share a commit, a full database rejects the large one and accepts the small ones', async (t) => {
  const db = await smallDatabase(t)
  const outcomes = await Promise.allSettled([
    inTransaction(db, (tx) => write(tx, 'a', 10)),
    inTransaction(db, (tx) => write(tx, 'b', LARGE)),
    inTransaction(db, (tx) => write(tx, 'c', 10)),
  ])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  const [, refused] = outcomes
  assert.deepEqual(storageFaultOf(refused.status === 'rejected' && refused.reason), {
    fault: 'full',
    place: 'the database',
  })
  assert.deepEqual(await idsIn(db), ['a', 'c'])
})

for (const beside of [0, 2])
  test(`a change that continues after the database is full writes nothing (beside ${beside} others)`, async (t) => {
    const db = await smallDatabase(t)
    const others = Array.from({ length: beside }, (_, at) =>
      inTransaction(db, (tx) => write(tx, `other-${at}`, 10)),
    )
    const careless = inTransaction(db, async (tx) => {
      await write(tx, 'before', 10)
      await write(tx, 'large', LARGE).catch(() => undefined)
      // What SQLite rolls back on a full disk it rolls back here.
      await sql`rollback`.execute(tx).catch(() => undefined)
      await write(tx, 'after', 10)
    })
    await assert.rejects(careless, (error) => storageFaultOf(error)?.fault === 'full')
    await Promise.all(others)
    assert.deepEqual(
      await idsIn(db),
      others.map((_, at) => `other-${at}`),
    )
    await inTransaction(db, (tx) => write(tx, 'later', 10))
  })

for (const [failure, code, reason, message] of [
  [{ code: 'ENOSPC' }, 8, 'STORAGE_FULL', /^Resource exhausted: the data directory has no free space/],
  [{ code: 'EDQUOT' }, 8, 'STORAGE_FULL', /no free space/],
  [{ code: 'EFBIG' }, 8, 'STORAGE_FULL', /no free space/],
  [{ code: 'EROFS' }, 14, 'STORAGE_READ_ONLY', /read-only file system/],
  [{ code: 'EIO' }, 14, 'STORAGE_FAILING', /reports errors/],
  [{ code: 'SQLITE_FULL' }, 8, 'STORAGE_FULL', /the database has no free space/],
  [{ code: 'SQLITE_IOERR_SHMSIZE' }, 8, 'STORAGE_FULL', /the database/],
  [{ code: 'SQLITE_IOERR_WRITE' }, 14, 'STORAGE_FAILING', /the database/],
  [{ code: 'SQLITE_IOERR_NOMEM' }, 14, 'DATABASE_OUT_OF_MEMORY', /out of memory/],
  [{ code: 'SQLITE_READONLY' }, 14, 'STORAGE_READ_ONLY', /the database/],
  [{ code: '53100' }, 8, 'STORAGE_FULL', /the database/],
  [{ code: '58030' }, 14, 'STORAGE_FAILING', /the database/],
  [{ code: '53200' }, 14, 'DATABASE_OUT_OF_MEMORY', /out of memory/],
  [
    { code: 'XX000', message: 'could not extend file "base/1/2": Disk quota exceeded' },
    8,
    'STORAGE_FULL',
    /the database/,
  ],
  [
    { code: '42501', message: 'could not open file "base/1/2": Read-only file system' },
    14,
    'STORAGE_READ_ONLY',
    /the database/,
  ],
  [{ code: '42501', message: 'permission denied for table groups' }, 13, 'INTERNAL', /request 7/],
  [{ code: 'SQLITE_CORRUPT' }, 13, 'INTERNAL', /request 7/],
] as const)
  test(`a failure with the code ${failure.code} gets a response with code ${code}, ${reason}`, () => {
    const wrapped = new Error('outer', { cause: Object.assign(new Error('/secret/path'), failure) })
    const error = asApiError(wrapped, '7')
    assert.ok(error instanceof ApiError)
    assert.deepEqual([error.code, error.reason], [code, reason])
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, /secret|base\//)
  })
