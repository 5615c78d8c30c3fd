import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { eventually } from './support/eventually.ts'
import { startFreezingProxy } from './support/http/freezing-proxy.ts'
import { runBerth, type Serving, serveBerth, temporaryDirectory } from './support/server/process.ts'

/** Of the shutdown with a database that does not answer. */
const DRAIN_MS = 0
const GRACE_MS = 1000
/** A stop that waits for the database would never end. */
const SLACK_MS = 30_000

/** A request that has started and does not end. */
function hangingRequest({ url }: Pick<Serving, 'url'>, authorization = '') {
  const hanging = request(`${url}/iam/v2beta1/groups`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 100, authorization },
  })
  const ended = new Promise<string>((resolve) => {
    hanging.on('error', (error) => resolve((error as NodeJS.ErrnoException).code ?? error.message))
    hanging.on('response', (response) => resolve(`status ${response.statusCode}`))
  })
  hanging.write('{')
  return ended
}

async function tokenOf(t: Parameters<typeof runBerth>[0], env: Readonly<Record<string, string>>) {
  return `Bearer ${(await runBerth(t, ['admin', 'token'], env)).stdout.trim()}`
}

test('after SIGTERM the server is not ready, and the port serves until BERTH_DRAIN_DELAY has passed', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_DRAIN_DELAY: '10s' }
  const server = await serveBerth(t, env)
  const session = connectHttp2(server.url)
  t.after(() => session.destroy())
  const goaways: number[] = []
  session.on('goaway', (_code, lastStream) => goaways.push(lastStream))
  session.on('error', () => undefined)
  const ask = async (path: string) => {
    const stream = session.request({ ':path': path })
    const [head] = await once(stream, 'response')
    stream.resume()
    await once(stream, 'end')
    return head[':status']
  }
  assert.equal(await ask('/readyz'), 200)
  const watch = session.request({
    ':path': '/grpc.health.v1.Health/Watch',
    ':method': 'POST',
    'content-type': 'application/grpc',
  })
  const statuses: number[] = []
  watch.on('data', (frame: Buffer) => statuses.push(frame.at(-1) ?? 0))
  watch.on('error', () => undefined)
  const trailers = once(watch, 'trailers')
  watch.end(Buffer.alloc(5))
  await eventually(() => statuses.length === 1)

  server.child.kill('SIGTERM')
  await eventually(async () => (await fetch(`${server.url}/readyz`)).status === 503)
  const alive = await fetch(`${server.url}/healthz`)
  assert.deepEqual([alive.status, alive.headers.get('connection')], [200, 'close'])
  assert.equal(await ask('/healthz'), 200)
  await eventually(() => statuses.length === 2)
  assert.deepEqual(statuses, [1, 2])
  assert.deepEqual(goaways, [], 'connections of HTTP/2 stay while the port serves')

  const [ended] = await trailers
  assert.equal(ended['grpc-status'], '14')
  const { code, stderr } = await server.finished
  assert.equal(code, 0, stderr)
  assert.ok(goaways.length >= 1)
  await assert.rejects(fetch(`${server.url}/healthz`))
})

test('requests that run longer than BERTH_STOP_GRACE are cut off, and the server ends with code 0', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_STOP_GRACE: '1s' }
  const server = await serveBerth(t, env)
  const ended = hangingRequest(server, await tokenOf(t, env))
  await pause(200)
  server.child.kill('SIGTERM')
  assert.equal(await ended, 'ECONNRESET')
  const { code, stderr } = await server.finished
  assert.equal(code, 0, stderr)
})

test('a second signal ends the process immediately', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_STOP_GRACE: '1h' }
  const server = await serveBerth(t, env)
  const ended = hangingRequest(server, await tokenOf(t, env))
  await pause(200)
  server.child.kill('SIGINT')
  await eventually(() => /"stopping: /.test(server.output().stderr))
  await pause(700) // The same Ctrl-C may arrive twice within half a second.
  server.child.kill('SIGINT')
  const { code } = await server.finished
  assert.equal(code, 130)
  assert.equal(await ended, 'ECONNRESET')
})

test('a shutdown with a database that does not answer ends in time, and names what did not finish', {
  skip: withoutPostgres,
}, async (t) => {
  const { url } = await startPostgres(t)
  const { hostname: host, port } = new URL(url)
  const proxy = await startFreezingProxy(t, { host, port: Number(port) })
  const env = {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_DATABASE_URL: url.replace(`:${port}`, `:${proxy.port}`),
    BERTH_DRAIN_DELAY: `${DRAIN_MS / 1000}s`,
    BERTH_STOP_GRACE: `${GRACE_MS / 1000}s`,
  }
  const server = await serveBerth(t, env)
  const authorization = await tokenOf(t, env)
  assert.equal((await fetch(`${server.url}/iam/v2beta1/groups`, { headers: { authorization } })).status, 200)
  proxy.freeze()
  const ended = fetch(`${server.url}/iam/v2beta1/groups?page_size=7`, { headers: { authorization } }).then(
    ({ status }) => status,
    () => 'cut',
  )
  await pause(200)
  const startMs = performance.now()
  server.child.kill('SIGTERM')
  const { code, stderr } = await server.finished
  assert.equal(await ended, 'cut')
  assert.ok(performance.now() - startMs < DRAIN_MS + GRACE_MS + limits.stopClosingMs + SLACK_MS)
  // The waits of the request are bounded, too: they may all end before the deadline.
  if (code === 0) return
  assert.equal(code, 124, stderr)
  const line = stderr.split('\n').find((text) => text.includes('these did not finish')) ?? '{}'
  const { unfinished } = JSON.parse(line)
  // The request may end before the write that removes the node from the list of nodes.
  const waiting = ['requests (GET /iam/v2beta1/groups)', 'sign of life']
  assert.ok(
    unfinished.some((name: string) => waiting.includes(name)),
    stderr,
  )
})
