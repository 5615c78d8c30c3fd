import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Code } from '@berth/server/api/errors.ts'
import { limits } from '@berth/server/config/limits.ts'
import { RequestContext, runInContext } from '@berth/server/pipeline/request/request-context.ts'
import { type Db, inTransaction, openPostgresDb } from '@berth/server/storage/db.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { databases } from '../support/database/databases.ts'
import { type FaultProxy, startFaultProxy } from '../support/http/fault-proxy.ts'

/** Connections of a node to a real PostgreSQL behind a path that fails. */

const url = process.env['BERTH_TEST_POSTGRES_URL']
const skip =
  (url === undefined || !databases.some(({ name }) => name === 'postgres')) && 'no PostgreSQL server found'

async function open(
  t: TestContext,
  poolMax?: number,
): Promise<{ readonly db: Db; readonly path: FaultProxy; readonly errors: Error[] }> {
  assert.ok(url)
  const path = await startFaultProxy(t, url)
  const errors: Error[] = []
  const db = await openPostgresDb(path.through(url), { onError: (error) => errors.push(error), poolMax })
  t.after(() => db.close())
  return { db, path, errors }
}

const unavailable = { code: Code.UNAVAILABLE, reason: 'UNAVAILABLE' }
const { databaseDeadAfterMs, databaseDeadCheckMs, databaseCloseMs } = limits

describe('connections to PostgreSQL', { skip, concurrency: true }, () => {
  test('a slow statement is not cancelled, however long databaseDeadAfterMs has passed', async (t) => {
    const { db, errors } = await open(t)
    const seconds = (databaseDeadAfterMs + 5 * databaseDeadCheckMs) / 1000
    await db.read('select pg_sleep($1)', [seconds])
    assert.deepEqual(errors, [])
  })

  test('a commit that is not confirmed is OUTCOME_UNKNOWN', async (t) => {
    const { db, path } = await open(t)
    const failed = inTransaction(db, async (tx) => {
      await sql`select 1`.execute(tx)
      path.loseOpen()
    })
    await assert.rejects(failed, { code: Code.UNAVAILABLE, reason: 'OUTCOME_UNKNOWN' })
    assert.deepEqual(await db.read('select 1 as one', []), [{ one: 1 }])
  })

  test('a dead connection leaves no transaction on the server', async (t) => {
    const { db, path } = await open(t)
    let pid = 0
    const failed = inTransaction(db, async (tx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
      pid = rows[0]?.pid ?? 0
      path.loseOpen()
      await sql`select 2`.execute(tx)
    })
    await assert.rejects(failed, unavailable)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const isThere = async () =>
      (await client.query('select from pg_stat_activity where pid = $1', [pid])).rowCount === 1
    for (let left = 200; left > 0 && (await isThere()); left--) await sleep(50)
    assert.equal(await isThere(), false)
    await client.end()
  })

  test('a transaction whose failed statement was ignored is not reported as committed', async (t) => {
    const { db } = await open(t)
    const ignored = inTransaction(db, async (tx) => {
      await sql`select 1 / 0`.execute(tx).catch(() => undefined)
    })
    await assert.rejects(ignored, /a transaction with a failed statement was committed/)
  })

  test('a request that gets no connection within databaseWaitMsMax fails with code 14 and the reason', async (t) => {
    const { db } = await open(t, 2)
    const ofRequest = <T>(work: () => T) => runInContext(new RequestContext(), work)
    const held = Array.from({ length: 2 }, () =>
      db.read('select pg_sleep($1)', [limits.databaseWaitMsMax / 1000 + 2]),
    )
    const read = ofRequest(async () => db.read('select 1', []))
    await assert.rejects(read, { code: Code.UNAVAILABLE, reason: 'DATABASE_BUSY', message: /waited 5 s/ })
    assert.equal(await db.readOnlyReason(), undefined, 'readiness has a connection of its own')
    await Promise.all(held)
  })

  test('closing takes no longer than twice databaseCloseMs while statements wait on a silent network path', async (t) => {
    const { db, path } = await open(t)
    await db.read('select 1', [])
    await path.apply({ kind: 'drop' })
    const waiting = assert.rejects(Promise.resolve(db.read('select 2', [])), unavailable)
    const late = sleep(2 * databaseCloseMs + 5000, 'late', { ref: false })
    assert.notEqual(await Promise.race([db.close(), late]), 'late')
    await waiting
  })

  test('a statement of background work has its own timeouts, and does not change those of requests', async (t) => {
    const { db } = await open(t, 2)
    const timeout = `select current_setting('statement_timeout') as value`
    assert.deepEqual(await db.background.read(timeout, []), [{ value: '1h' }])
    const inside = await inTransaction(db.background, (tx) =>
      sql<{ value: string }>`${sql.raw(timeout)}`.execute(tx),
    )
    assert.equal(inside.rows[0]?.value, '1h')
    assert.equal(limits.databaseLongStatementMs, 3_600_000)
    assert.deepEqual(await db.read(timeout, []), [{ value: `${limits.databaseStatementMs / 1000}s` }])
  })
})
