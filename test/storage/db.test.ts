import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, Code } from '@berth/server/api/errors.ts'
import { type Db, inTransaction, openSqliteDb, repeatableWork, type Tx } from '@berth/server/storage/db.ts'
import { deleteResource, insertResource, lockResource } from '@berth/server/storage/resource-rows.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import type { Tables } from '@berth/server/storage/schema/tables.ts'
import { readSetting, writeSetting } from '@berth/server/storage/settings.ts'
import { runInTransaction, sqlText } from '@berth/server/storage/sql-text.ts'
import Database from 'better-sqlite3'
import { CompiledQuery } from 'kysely'
import { deleteRow, insertOne, rowOf } from '../support/database/hierarchy.ts'
import { onEveryEngine } from '../support/database/storage.ts'
import { temporaryDirectory } from '../support/server/process.ts'

const newRoot = () => randomBytes(20).toString('hex')
const repo = (uid: string, name = 'r') => rowOf('repos', uid, { name }) as Tables['repos']

async function stored(db: Db, uid: string): Promise<number> {
  return (await db.kysely.selectFrom('repos').select('uid').where('uid', '=', uid).execute()).length
}

onEveryEngine('the database', (opened) => {
  test('a transaction is applied as a whole or not at all', async () => {
    const db = opened()
    const uid = `${newRoot()}/0123456789abcdef`
    await assert.rejects(
      inTransaction(db, async (tx) => {
        await insertResource(db, tx, 'repos', repo(uid))
        throw new Error('changed my mind')
      }),
      /changed my mind/,
    )
    assert.equal(await stored(db, uid), 0)
    await inTransaction(db, (tx) => insertResource(db, tx, 'repos', repo(uid)))
    assert.equal(await stored(db, uid), 1)
  })

  test('only a transaction that may be lost is not synced', async () => {
    const db = opened()
    const text = db.engine === 'sqlite' ? 'pragma synchronous' : 'show synchronous_commit'
    const waited = async (reader: Pick<Db['kysely'], 'executeQuery'>) => {
      const { rows } = await reader.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text))
      return Object.values(rows[0] ?? {})[0]
    }
    const look = (options?: { mayBeLost: boolean }) => inTransaction(db, (tx) => waited(tx), options)
    // FULL is 2; a server for tests may wait for nothing at all.
    const usual = db.engine === 'sqlite' ? 2 : await waited(db.kysely)
    assert.equal(await look({ mayBeLost: true }), db.engine === 'sqlite' ? 1 : 'off')
    assert.equal(await waited(db.kysely), usual)
    assert.equal(await look(), usual)
    await assert.rejects(
      inTransaction(db, () => Promise.reject(new Error('no')), { mayBeLost: true }),
      /no/,
    )
    assert.equal(await waited(db.kysely), usual)
    const repeatable = repeatableWork(db)
    assert.equal(await inTransaction(repeatable, waited), db.engine === 'sqlite' ? 1 : 'off')
    assert.equal(await inTransaction(repeatable, waited, { mayBeLost: false }), usual)
    // What is committed together is waited for as soon as one of them wants it.
    assert.equal((await Promise.all([look({ mayBeLost: true }), look()])).at(-1), usual)
  })

  test('a statement of a transaction that has ended fails, also while another one runs', async () => {
    const db = opened()
    const read = (tx: Tx) => runInTransaction<{ n: number }>(tx, 'select 1 as n', sqlText(db.engine))
    const ended: Tx[] = []
    await inTransaction(db, async (tx) => {
      assert.deepEqual(await read(tx), [{ n: 1 }])
      ended.push(tx)
    })
    const failing = inTransaction(db, async (tx) => {
      ended.push(tx)
      throw new Error('no')
    })
    await assert.rejects(failing, /no/)
    await inTransaction(db, async (tx) => {
      for (const old of ended)
        await assert.rejects(async () => read(old), /already (?:committed|rolled back)/)
      assert.deepEqual(await read(tx), [{ n: 1 }])
    })
  })

  test('a unique violation is recognized, and another failure is not', async () => {
    const db = opened()
    const root = newRoot()
    await inTransaction(db, (tx) => insertResource(db, tx, 'repos', repo(`${root}/0123456789abcdef`)))
    const failure = await inTransaction(db, (tx) =>
      insertResource(db, tx, 'repos', repo(`${root}/fedcba9876543210`)),
    ).catch((error: unknown) => error)
    assert.ok(db.rules.isUniqueViolation(failure))
    assert.ok(!db.rules.isTransient(failure))
    assert.ok(!db.rules.isUniqueViolation(new Error('other')))
  })

  test('a transient failure is retried, at most eight times', async () => {
    const transient = new Error('try again')
    const db: Db = { ...opened(), rules: { ...opened().rules, isTransient: (error) => error === transient } }
    let runs = 0
    const third = await inTransaction(db, async () => {
      if (++runs < 3) throw transient
      return runs
    })
    assert.equal(third, 3)
    runs = 0
    await assert.rejects(
      inTransaction(db, async () => {
        runs++
        throw transient
      }),
      (error: unknown) =>
        error instanceof ApiError && error.code === Code.ABORTED && error.cause === transient,
    )
    assert.equal(runs, 8)
  })

  test('R23: a uid that was in use is rejected, in its own collection and in others', async () => {
    const db = opened()
    const uid = await insertOne(db, 'repos', newRoot())
    await deleteRow(db, 'repos', uid)
    for (const collection of ['repos', 'groups', 'identities'] as const) {
      const row = rowOf(collection, uid, { name: 'again' })
      await assert.rejects(
        inTransaction(db, (tx) => insertResource(db, tx, collection, row as never)),
        /was in use before/,
      )
    }
    assert.equal(await inTransaction(db, (tx) => deleteResource(db, tx, 'repos', uid)), false)
  })

  test('text orders by byte', async () => {
    const db = opened()
    const root = newRoot()
    const names = ['a b', 'a-b', 'a.b', 'a', 'ab', 'a_b', '0', 'z9', 'z10', 'b']
    await inTransaction(db, async (tx) => {
      for (const [at, name] of names.entries())
        await insertResource(db, tx, 'repos', repo(`${root}/${String(at).padStart(16, '0')}`, name))
    })
    const rows = await db.kysely
      .selectFrom('repos')
      .select('name')
      .where('root', '=', root)
      .orderBy('name')
      .execute()
    assert.deepEqual(
      rows.map(({ name }) => name),
      names.sort(),
    )
  })

  test('bytes and large numbers are read as they were written', async () => {
    const db = opened()
    const uid = `${newRoot()}/0123456789abcdef`
    const bytes = new Uint8Array([0, 255, 10, 39, 92])
    const row = { ...repo(uid), created_ms: 8_640_000_000_000_000, configuration: bytes }
    await inTransaction(db, (tx) => insertResource(db, tx, 'repos', row))
    const read = await inTransaction(db, (tx) => lockResource(db, tx, 'repos', uid, 'update'))
    assert.equal(read?.created_ms, row.created_ms)
    assert.deepEqual(new Uint8Array(read?.configuration ?? []), bytes)
  })

  test('a setting is written once where it must not be replaced', async () => {
    const db = opened()
    const name = newRoot()
    assert.equal(await writeSetting(db.kysely, name, 'one', { onlyIfAbsent: true }), true)
    assert.equal(await writeSetting(db.kysely, name, 'two', { onlyIfAbsent: true }), false)
    assert.equal(await readSetting(db.kysely, name), 'one')
    assert.equal(await writeSetting(db.kysely, name, 'two'), true)
    assert.equal(await readSetting(db.kysely, name), 'two')
  })

  test('migrating again does nothing', async () => {
    assert.deepEqual(await migrate(opened()), [])
  })

  test('a long read returns the same as any other', async () => {
    const db = opened()
    const uid = await insertOne(db, 'repos', newRoot())
    const place = db.engine === 'sqlite' ? '?' : '$1'
    assert.deepEqual(await db.longRead(`select uid from repos where uid = ${place}`, [uid]), [{ uid }])
    await assert.rejects(db.longRead('select * from nothing_of_that_name', []))
    assert.deepEqual(await db.longRead(`select uid from repos where uid = ${place}`, [uid]), [{ uid }])
  })
})

test('the version of a SQLite database changes with every write, of this connection or another', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
  const file = join(dataDir, 'berth.db')
  const [one, other] = [await openSqliteDb(file), await openSqliteDb(file)]
  t.after(async () => {
    await Promise.all([one.close(), other.close()])
    rmSync(dataDir, { recursive: true, force: true })
  })
  await migrate(one)
  const settled = one.version('any')
  await readSetting(one.kysely, 'nothing')
  assert.equal(one.version('any'), settled)
  await writeSetting(one.kysely, 'a', '1')
  const own = one.version('any')
  assert.notEqual(own, settled)
  await writeSetting(other.kysely, 'a', '2')
  assert.notEqual(one.version('any'), own)
})

test('the version of a SQLite database grows by small steps, so that it stays exact', async (t) => {
  const file = join(temporaryDirectory(t), 'berth.db')
  const [one, other] = [await openSqliteDb(file), await openSqliteDb(file)]
  t.after(() => Promise.all([one.close(), other.close()]))
  await migrate(one)
  const before = one.version('access')!
  for (let n = 1; n <= 10; n++) {
    await writeSetting(other.kysely, 'a', String(n))
    assert.equal(one.version('access'), before + n)
  }
})

test('while another process writes to a SQLite database, changes wait for it and reads do not', async (t) => {
  const file = join(temporaryDirectory(t), 'berth.db')
  const db = await openSqliteDb(file)
  const other = new Database(file)
  t.after(() => Promise.all([db.close(), other.close()]))
  await migrate(db)
  other.exec('begin immediate')
  const written: string[] = []
  const changes = [
    inTransaction(db, (tx) => writeSetting(tx, 'a', '1')).then(() => written.push('a')),
    writeSetting(db.kysely, 'b', '2').then(() => written.push('b')),
  ]
  await pause(200)
  // Changes that blocked the event loop would have failed before this read.
  assert.deepEqual(await db.read('select value from settings where name = ?', ['a']), [])
  assert.equal(await readSetting(db.kysely, 'a'), undefined)
  assert.deepEqual(written, [])
  other.exec('rollback')
  await Promise.all(changes)
  assert.deepEqual([await readSetting(db.kysely, 'a'), await readSetting(db.kysely, 'b')], ['1', '2'])
})

onEveryEngine('the access version', (opened) => {
  /** Whether writing moves the version that cached permissions are bound to; databases without versions are always read again. */
  const movesAccess = async (write: (tx: Tx) => Promise<unknown>) => {
    const db = opened()
    const before = db.version('access')
    await inTransaction(db, write)
    return before === undefined || db.version('access') !== before
  }
  const status = { status: 2 }

  test('changes with the status of an organization, also if the statement sets other columns, in any order', async () => {
    for (const set of [status, { ...status, verified: 1 }, { verified: 1, ...status }])
      assert.ok(
        await movesAccess((tx) => tx.updateTable('groups').set(set).where('uid', '=', 'x').execute()),
        Object.keys(set).join(),
      )
  })

  test('changes with raw statements that name a table of access', async () => {
    for (const text of [
      'update groups set verified = 0, status = 2',
      'UPDATE "groups" SET status = 2',
      'with gone as (select 1) delete from sessions where 1 = 0',
    ])
      assert.ok(await movesAccess((tx) => tx.executeQuery(CompiledQuery.raw(text))), text)
  })

  test('does not change with writes that change no access', async () => {
    const db = opened()
    if (db.version('access') === undefined) return
    for (const write of [
      (tx: Tx) => tx.updateTable('groups').set({ name: 'x', updated_ms: 1 }).where('uid', '=', 'x').execute(),
      (tx: Tx) => tx.updateTable('identities').set({ last_seen_ms: 1 }).where('uid', '=', 'x').execute(),
      (tx: Tx) => tx.updateTable('sessions').set({ last_used_ms: 1 }).where('id', '=', 'x').execute(),
      (tx: Tx) => tx.deleteFrom('tags').where('uid', '=', 'x').execute(),
      (tx: Tx) => tx.executeQuery(CompiledQuery.raw("delete from tags where uid = 'x'")),
    ])
      assert.equal(await movesAccess(write), false)
  })
})
