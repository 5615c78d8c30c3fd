import assert from 'node:assert/strict'
import { connect as connectHttp2, constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ApiError, Code } from '@berth/server/api/errors.ts'
import { limits } from '@berth/server/config/limits.ts'
import { RequestContext, runInContext } from '@berth/server/pipeline/request/request-context.ts'
import { type Db, inTransaction, openPostgresDb, openSqliteDb } from '@berth/server/storage/db.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import pg from 'pg'
import { addressOf, databases, serverDatabases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { startFaultProxy } from './support/http/fault-proxy.ts'
import { temporaryDirectory } from './support/server/process.ts'
import { startTestBerth } from './support/server/test-berth.ts'

/** Work of a client that went away ends: over each version of HTTP, and where the database cannot be asked to cancel it. */

const serverUrl = process.env['BERTH_TEST_POSTGRES_URL'] ?? ''
const hasPostgres = databases.some(({ name }) => name === 'postgres')
const skip = hasPostgres ? false : 'no PostgreSQL server found'
const gone = new ApiError(Code.CANCELLED, 'Cancelled: the client went away')

async function session(t: TestContext, url = serverUrl): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  // The database is dropped when the server of the test stops.
  client.on('error', () => undefined)
  await client.connect()
  t.after(() => client.end().catch(() => undefined))
  return client
}

/** Statements of a text that run, in all databases. */
async function running(observer: pg.Client, like: string): Promise<number> {
  const { rows } = await observer.query(
    `select count(*)::int as n from pg_stat_activity where state = 'active' and query like $1 and pid <> pg_backend_pid()`,
    [like],
  )
  return rows[0].n
}

/** One slow read of a request. */
function slowRead(db: Db, name: string) {
  const context = new RequestContext()
  const read = runInContext(context, async () => db.read(`select pg_sleep(60) as ${name}`, []))
  read.catch(() => undefined)
  return { context, read }
}

test('a statement whose caller went away is cancelled, and the pool is free', {
  skip,
}, async (t) => {
  const db = await openPostgresDb(serverUrl, { onError() {} })
  t.after(() => db.close())
  const observer = await session(t)
  const { context, read } = slowRead(db, 'cancelled_read')
  await eventually(async () => (await running(observer, '%cancelled_read%')) === 1)
  context.abort(gone)
  await assert.rejects(read, gone)
  assert.equal(await running(observer, '%cancelled_read%'), 0)
  const { total, idle } = db.pool()
  assert.equal(total, idle)
  assert.equal((await pidOf(db)).length, 1)
})

async function pidOf(db: Db) {
  return db.read<{ pid: number }>('select pg_backend_pid() as pid', [])
}

test('a statement that cannot be cancelled ends with its connection, and the pool recovers', {
  skip,
}, async (t) => {
  const proxy = await startFaultProxy(t, serverUrl)
  const errors: Error[] = []
  const db = await openPostgresDb(proxy.through(serverUrl), { onError: (error) => errors.push(error) })
  t.after(() => db.close())
  const observer = await session(t)
  const { context, read } = slowRead(db, 'stubborn_read')
  await eventually(async () => (await running(observer, '%stubborn_read%')) === 1)
  await proxy.apply({ kind: 'refuse' })
  context.abort(gone)
  await assert.rejects(read, gone)
  assert.equal(db.pool().total, 0)
  await proxy.apply({ kind: 'pass' })
  assert.equal((await pidOf(db)).length, 1)
  await observer.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where query like '%stubborn_read%' and pid <> pg_backend_pid()`,
  )
})

test('a cancel request that is not answered within databaseCancelMsMax ends the connection', {
  skip,
}, async (t) => {
  const proxy = await startFaultProxy(t, serverUrl)
  const db = await openPostgresDb(proxy.through(serverUrl), { onError() {} })
  t.after(() => db.close())
  const observer = await session(t)
  const { context, read } = slowRead(db, 'silent_read')
  await eventually(async () => (await running(observer, '%silent_read%')) === 1)
  await proxy.apply({ kind: 'drop' })
  context.abort(gone)
  await assert.rejects(read, gone)
  assert.equal(db.pool().total, 0)
  assert.equal(limits.databaseCancelMsMax, 2000)
  await observer.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where query like '%silent_read%' and pid <> pg_backend_pid()`,
  )
})

test('a transaction whose caller goes away between two statements rolls back', { skip }, async (t) => {
  const db = await openPostgresDb(serverUrl, { onError() {} })
  t.after(() => db.close())
  const context = new RequestContext()
  const work = runInContext(context, () =>
    inTransaction(db, async (tx) => {
      const { sql } = await import('kysely')
      await sql`create table left_behind (n int)`.execute(tx)
      context.abort(gone)
      await sql`select 1`.execute(tx)
    }),
  )
  await assert.rejects(work, gone)
  assert.deepEqual(await db.read(`select to_regclass('left_behind') as name`, []), [{ name: null }])
  assert.equal(db.pool().total, db.pool().idle)
})

const [server] = serverDatabases

test('a REST client that resets its HTTP/1.1 connection or its HTTP/2 stream cancels its statement', {
  skip: server === undefined && 'no PostgreSQL server found',
}, async (t) => {
  assert.ok(server)
  const berth = await startTestBerth(server)
  t.after(() => berth.stop())
  const { db } = berth.berth.installation.store
  const observer = await session(t, addressOf(db))
  const locking = await session(t, addressOf(db))
  await locking.query('begin')
  await locking.query('lock table advisories in access exclusive mode')
  const { hostname, port, host } = new URL(berth.url)
  const path = '/vulnerabilities/v2beta1/advisories'
  const waiting = async () => (await running(observer, '%advisories%')) > 0
  const idle = () => {
    const { total, idle, waiting } = db.pool()
    return total === idle && waiting === 0
  }

  const http1 = await new Promise<Socket>((resolve) => {
    const socket = connect(Number(port), hostname, () => resolve(socket))
  })
  http1.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${berth.token}\r\n\r\n`)
  await eventually(waiting)
  http1.resetAndDestroy()
  await eventually(async () => idle() && !(await waiting()))

  const http2 = connectHttp2(berth.url)
  t.after(() => http2.destroy())
  const stream = http2.request({ ':path': path, authorization: `Bearer ${berth.token}` })
  stream.on('error', () => undefined)
  await eventually(waiting)
  stream.close(constants.NGHTTP2_CANCEL)
  await eventually(async () => idle() && !(await waiting()))
  assert.deepEqual(berth.errors, [])
})

test('on SQLite a change and a long read that have not begun are dropped with their callers', async (t) => {
  const db = await openSqliteDb(`${temporaryDirectory(t)}/berth.db`)
  t.after(() => db.close())
  await migrate(db)
  const leaving = new RequestContext()
  const staying = new RequestContext()
  const begun: string[] = []
  const change = (name: string, context: RequestContext, work = async () => {}) =>
    runInContext(context, () =>
      inTransaction(db, async () => {
        begun.push(name)
        await work()
      }),
    )
  // In one commit: the first makes the client of the second go away.
  const first = change('first', staying, async () => leaving.abort(gone))
  const second = change('second', leaving)
  const third = change('third', staying)
  await Promise.all([first, assert.rejects(second, gone), third])
  assert.deepEqual(begun, ['first', 'third'])

  const reading = new RequestContext()
  const count = `with recursive n (i) as (select 1 union all select i + 1 from n where i < 300000) select max(i) as n from n`
  const ahead = [db.longRead(count, []), db.longRead(count, [])]
  const dropped = runInContext(reading, () => db.longRead(count, []))
  reading.abort(gone)
  await assert.rejects(dropped, gone)
  assert.deepEqual(await Promise.all(ahead), [[{ n: 300000 }], [{ n: 300000 }]])
  assert.deepEqual(await db.longRead(count, []), [{ n: 300000 }])
})
