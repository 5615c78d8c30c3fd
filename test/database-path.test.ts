import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { Health, HealthCheckResponse_ServingStatus } from '@berth/contract/gen/grpc/health/v1/health_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { Status } from '@grpc/grpc-js/build/src/constants.js'
import pg from 'pg'
import { type GrpcFailure, grpcClient } from './support/api/grpc.ts'
import {
  assertUnavailable,
  type ObservedServer,
  runLoad,
  startObservedServer,
  waitForRecovery,
} from './support/database/database-outage.ts'
import { type OwnPostgres, startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { eventually } from './support/eventually.ts'
import { type FaultProxy, startFaultProxy } from './support/http/fault-proxy.ts'
import { cleanups, temporaryDirectory } from './support/server/process.ts'

/** Beside the time of the server. */
const BUSY_MACHINE_MS = 20_000

/** One server process, which is never restarted, and a real PostgreSQL behind a path that fails in every way. */

describe('a server whose database fails', { skip: withoutPostgres }, () => {
  const t = cleanups()
  let postgres: OwnPostgres
  let path: FaultProxy
  let node: ObservedServer

  before(async () => {
    postgres = await startPostgres(t)
    path = await startFaultProxy(t, postgres.url)
    const env = {
      BERTH_DATA_DIR: temporaryDirectory(t),
      BERTH_LOG_LEVEL: 'error',
      BERTH_DATABASE_POOL_MAX: '8',
    }
    node = await startObservedServer(
      t,
      { ...env, BERTH_DATABASE_URL: path.through(postgres.url) },
      postgres.url,
    )
  })
  after(() => t.run())

  test('opens as many connections as BERTH_DATABASE_POOL_MAX, and one that watches', async (t) => {
    const running = runLoad(t, node, 24)
    // All callers are of one organization, which has its share, and background work has another.
    await eventually(() => path.open() >= 5)
    assert.equal((await node.get('/readyz')).status, 200)
    assert.deepEqual(await running.stop(), [])
    assert.ok(path.open() <= 9, `${path.open()} connections`)
  })

  test('idle connections that were lost without a sign cost no request: they are tried first', async (t) => {
    await waitForRecovery(node.write)
    await sleep(limits.databaseValidateAfterMs)
    assert.ok(path.loseOpen() > 0)
    t.diagnostic(`first success after ${await waitForRecovery(node.write)} ms`)
    t.diagnostic(`/readyz after ${await waitForRecovery(() => readyz(node))} ms`)
  })

  test('connections that are lost while statements run cost these, and new ones take over', async (t) => {
    const running = runLoad(t, node, 16)
    await eventually(() => (running.seen.get('200/0') ?? 0) > 50)
    assert.ok(path.loseOpen() >= 4)
    const before = running.seen.get('200/0') ?? 0
    const startMs = performance.now()
    await eventually(() => (running.seen.get('200/0') ?? 0) > before + 20)
    t.diagnostic(`20 successes after ${Math.round(performance.now() - startMs)} ms`)
    assert.deepEqual(await running.stop(), [])
  })

  test('replies that are lost, and connections that are reset, ended or cut in a reply, cost these requests', async (t) => {
    const running = runLoad(t, node, 8)
    await path.apply({ kind: 'drop replies' })
    await sleep(200)
    await path.apply({ kind: 'pass' })
    t.diagnostic(`after lost replies: first success after ${await waitForRecovery(node.write)} ms`)
    for (const fault of [path.resetOpen, path.endOpen, path.resetOpen]) {
      await sleep(100)
      fault()
    }
    for (const replyBytes of [1, 30, 200]) {
      await path.apply({ kind: 'cut', replyBytes })
      await sleep(150)
    }
    await path.apply({ kind: 'refuse' })
    path.resetOpen()
    await sleep(150)
    await path.apply({ kind: 'pass' })
    t.diagnostic(`after cuts: first success after ${await waitForRecovery(node.write)} ms`)
    assert.deepEqual(await running.stop(), [])
  })

  test('a path that drops everything is 503 with Retry-After over REST, gRPC and OCI, and /readyz says so in time', async (t) => {
    await waitForRecovery(node.write)
    await path.apply({ kind: 'drop' })
    // The tests that follow must not fail with this one.
    t.after(() => path.apply({ kind: 'pass' }))
    const grpc = grpcClient(node.serving.url)
    t.after(() => grpc.close())
    const repo = `${node.organization}/app`
    const headers = { authorization: `Basic ${Buffer.from(`_token:${node.token}`).toString('base64')}` }
    const registry = [`/v2/${repo}/manifests/latest`, `/token?service=x&scope=repository:${repo}:pull`]
    const [rest, failed, oci, ready, health] = await Promise.all([
      node.write(),
      grpc
        .call(GroupsService.method.listGroups, {}, { token: node.token })
        .catch((error: GrpcFailure) => error),
      Promise.all(registry.map((url) => fetch(`${node.serving.url}${url}`, { headers }))),
      node.get('/readyz', limits.readinessCheckMs + BUSY_MACHINE_MS),
      grpc.call(Health.method.check, {}),
    ])
    assertUnavailable(rest)
    assert.ok('code' in failed && failed.code === Status.UNAVAILABLE, String(failed))
    assert.ok(failed.status?.details.some(({ typeUrl }) => typeUrl.endsWith('google.rpc.RetryInfo')))
    for (const { status, headers, url } of oci)
      assert.deepEqual([status, /^[1-9]/.test(headers.get('retry-after') ?? '')], [503, true], url)
    assert.equal(ready.status, 503)
    assert.match(await ready.text(), /database: /)
    assert.equal(health.status, HealthCheckResponse_ServingStatus.NOT_SERVING)
    await path.apply({ kind: 'pass' })
    t.diagnostic(`first success after ${await waitForRecovery(node.write)} ms`)
    t.diagnostic(`/readyz after ${await waitForRecovery(() => readyz(node))} ms`)
  })

  test('a database that is stopped (SIGSTOP) under load recovers when it continues', async (t) => {
    const running = runLoad(t, node, 16)
    await eventually(() => (running.seen.get('200/0') ?? 0) > 50)
    postgres.freeze()
    assertUnavailable(await readyz(node))
    await eventually(() => (running.seen.get('503/14') ?? 0) > 0)
    postgres.thaw()
    t.diagnostic(`first success after ${await waitForRecovery(node.write)} ms`)
    assert.deepEqual(await running.stop(), [])
  })

  test('a primary that turns read-only serves reads; writes are 503 with Retry-After, and /readyz and gRPC health say so', async (t) => {
    const admin = new pg.Client({ connectionString: postgres.url })
    await admin.connect()
    t.after(() => admin.end())
    const setReadOnly = async (value: boolean) => {
      await admin.query(`alter system set default_transaction_read_only = ${value}`)
      await admin.query('select pg_reload_conf()')
    }
    await setReadOnly(true)
    await eventually(async () => (await readyz(node)).status === 503)
    const ready = await readyz(node)
    assertUnavailable(ready)
    assert.match(ready.body.message, /database: the database is read-only/)
    const written = await node.write()
    assertUnavailable(written)
    assert.match(written.body.message, /read-only/)
    assert.equal((await node.read()).status, 200)
    await admin.query('set default_transaction_read_only = off')
    await setReadOnly(false)
    t.diagnostic(`first write after ${await waitForRecovery(node.write)} ms`)
    assert.equal((await waitForRecovery(() => readyz(node))) < 20_000, true)
  })

  test('SIGTERM ends the process while the database is silent', async (t) => {
    const running = Array.from({ length: 4 }, () => node.write().catch(() => undefined))
    await path.apply({ kind: 'drop' })
    const startMs = performance.now()
    node.serving.child.kill('SIGTERM')
    const { code, signal } = await node.serving.finished
    t.diagnostic(`ended after ${Math.round(performance.now() - startMs)} ms`)
    assert.equal(signal, null)
    // 124: requests that wait for the database may not finish before the deadline of the shutdown.
    assert.ok(code === 0 || code === 1 || code === 124, `exit code ${code}`)
    await Promise.all(running)
  })
})

async function readyz({ serving }: ObservedServer) {
  const response = await fetch(`${serving.url}/readyz`)
  const text = await response.text()
  const body = response.status === 200 ? undefined : JSON.parse(text)
  return { status: response.status, headers: response.headers, body, text }
}
