import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { databases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { cleanups } from './support/server/process.ts'
import { type ServerWithWorkers, startWithWorkers } from './support/server/workers.ts'

/** What `/metrics` says of a server with workers. */

const scrape = async (url: string) => (await fetch(`${url}/metrics`)).text()

function valueOf(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1))
}

/** Bytes of memory that a process uses. */
function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

const skip = !databases.some(({ name }) => name === 'sqlite') && 'not among BERTH_TEST_DATABASES'

describe('three workers', { skip }, () => {
  const cleanup = cleanups()
  let server: ServerWithWorkers
  before(async () => {
    server = await startWithWorkers(cleanup, 'sqlite', { BERTH_WORKERS: '3' })
  })
  after(() => cleanup.run())
  const workersReady = async () => valueOf(await scrape(server.url), 'berth_workers_ready')

  test('memory and CPU include the supervisor', {
    skip: !existsSync('/proc/self/status') && 'the system does not list processes',
  }, async () => {
    const text = await scrape(server.url)
    const workers = [1, 2, 3].map((worker) => residentBytes(server.pid(worker))).reduce((a, b) => a + b, 0)
    const all = workers + residentBytes(server.child.pid as number)
    const served = valueOf(text, 'process_resident_memory_bytes')
    assert.ok(Math.abs(served - all) < Math.abs(served - workers), `${served}: ${workers} or ${all}`)
    assert.equal(text.match(/^# TYPE process_cpu_seconds_total counter$/gm)?.length, 1)
  })

  test('a worker that is replaced keeps what it counted since the last scrape', async () => {
    const path = `${await server.origin(1)}/iam/v2beta1/groups/${server.organization}`
    const calls =
      'berth_requests_total{method="chainguard.platform.iam.v2beta1.GroupsService/GetGroup",protocol="rest",code="OK"}'
    for (let count = 0; count < 5; count++)
      assert.equal(
        (await fetch(path, { headers: { authorization: `Bearer ${server.tokens.api}` } })).status,
        200,
      )
    const former = server.pid(1)
    process.kill(former, 'SIGTERM')
    await eventually(() => server.pid(1) !== former)
    assert.equal(valueOf(await scrape(server.url), calls), 5)
    await eventually(async () => (await workersReady()) === 3)
  })

  test('connections that are closed because too many wait are counted, and logged once', async (t) => {
    const pids = [1, 2, 3].map((worker) => server.pid(worker))
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    const { hostname: host, port } = new URL(server.url)
    const sockets: Socket[] = []
    let closed = 0
    t.after(() => {
      for (const socket of sockets) socket.destroy()
    })
    // Each worker has one that it has not taken.
    const accepted = pids.length + limits.workerConnectionsWaitingMax
    for (let count = 0; count < accepted + 5; count++) {
      const socket = connect({ host, port: Number(port) })
      sockets.push(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => closed++)
      await once(socket, 'connect')
    }
    await eventually(() => closed === 5)
    for (const pid of pids) process.kill(pid, 'SIGCONT')
    // Through a connection that waits already: a new one may be closed, too.
    const [waiting, ...others] = sockets
    for (const socket of others) socket.destroy()
    const [metrics] = await once(
      request(`${server.url}/metrics`, { createConnection: () => waiting as Socket }).end(),
      'response',
    )
    assert.equal(valueOf(await text(metrics), 'berth_worker_connections_dropped_total'), 5)
    assert.equal(limits.workerDropWarningMs, 60_000)
    assert.equal(server.output().stderr.match(/connections are closed: too many wait/g)?.length, 1)
  })
})
