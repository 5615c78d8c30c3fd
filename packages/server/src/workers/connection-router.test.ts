import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { eventually } from '../../../../test/support/eventually.ts'
import { limits } from '../config/limits.ts'
import { createConnectionKeys } from '../port/connections.ts'
import { EVENT_LOOP_ITERATIONS } from '../port/listen.ts'
import { createConnectionRouter } from './connection-router.ts'
import type { ListenerName, ToWorker } from './messages.ts'

const LISTENERS = ['public', 'metrics'] as const
const log = { debug: () => undefined, warn: () => undefined, error: () => undefined }

/** Addresses of clients. */
const FLOOD = '127.0.0.2'
const OTHER = '127.0.0.3'

/** A router, and workers that take connections when a test says so. */
async function setUp(t: TestContext, trustedProxies: readonly string[] = []) {
  const router = await createConnectionRouter(
    [
      { name: 'public', setting: 'BERTH_LISTEN', address: { host: '127.0.0.1', port: 0 } },
      { name: 'metrics', setting: 'BERTH_METRICS_LISTEN', address: { host: '127.0.0.1', port: 0 } },
    ],
    createConnectionKeys(trustedProxies),
    log,
  )
  const startWorker = () => {
    /** What the worker was sent: addresses of clients, and listeners. */
    const received: { readonly from: string | undefined; readonly listener: ListenerName }[] = []
    let taken = 0
    const worker = {
      connected: true,
      send(message: ToWorker, socket?: Socket) {
        if (message.type === 'connection')
          received.push({ from: socket?.remoteAddress, listener: message.listener })
      },
    } as unknown as ChildProcess
    for (const name of LISTENERS) router.add(name, worker)
    router.markReady(worker)
    return {
      worker,
      received,
      takeAll() {
        for (; taken < received.length; taken++) router.markTaken(worker)
      },
    }
  }
  /** Opens connections one after the other. The router has accepted them. */
  const open = async (count: number, localAddress: string, listener: ListenerName = 'public') => {
    const port = router.addresses[listener]?.port as number
    const sockets: Socket[] = []
    for (let n = 0; n < count; n++) {
      const socket = connect({ host: '127.0.0.1', port, localAddress }).on('error', () => undefined)
      t.after(() => socket.destroy())
      await once(socket, 'connect')
      await iterations()
      sockets.push(socket)
    }
    return sockets
  }
  t.after(async () => {
    router.stop()
    const last = startWorker()
    for (const name of LISTENERS) router.remove(name, last.worker)
    await iterations()
    last.takeAll()
  })
  return { router, startWorker, open }
}

/** What waits in the kernel is accepted meanwhile. */
async function iterations(): Promise<void> {
  for (let count = 0; count < 2 * EVENT_LOOP_ITERATIONS; count++) await nextIteration()
}

test('a worker has one connection in flight, and gets the next one when it has taken it', async (t) => {
  const { router, startWorker, open } = await setUp(t)
  const [one, other] = [startWorker(), startWorker()]
  await open(5, OTHER)
  assert.deepEqual([one.received.length, other.received.length], [1, 1])
  router.markTaken(one.worker)
  assert.deepEqual([one.received.length, other.received.length], [2, 1])
})

test('a connection that a worker has not taken when it ends is the next one of another', async (t) => {
  const { router, startWorker, open } = await setUp(t)
  const [hung, serving] = [startWorker(), startWorker()]
  await open(1, OTHER)
  await open(6, FLOOD)
  assert.deepEqual(hung.received, [{ from: OTHER, listener: 'public' }])
  router.forget(hung.worker)
  serving.takeAll()
  assert.deepEqual(
    serving.received.map(({ from }) => from),
    [FLOOD, OTHER, FLOOD, FLOOD, FLOOD, FLOOD, FLOOD],
  )
})

test('connections of an address do not wait for those of another that came before', async (t) => {
  const { startWorker, open } = await setUp(t)
  const worker = startWorker()
  await open(50, FLOOD)
  await open(2, OTHER)
  worker.takeAll()
  const places = worker.received.flatMap(({ from }, place) => (from === OTHER ? [place] : []))
  assert.deepEqual(places, [2, 4])
  assert.equal(worker.received.length, 52)
})

test('when too many wait, the address with the most loses connections', async (t) => {
  const { router, startWorker, open } = await setUp(t)
  const others = await open(3, OTHER)
  const flood = await open(limits.workerConnectionsWaitingMax, FLOOD)
  others.push(...(await open(3, OTHER)))
  await eventually(() => flood.filter(({ closed }) => closed).length === 6)
  assert.deepEqual(
    others.filter(({ closed }) => closed),
    [],
  )
  assert.equal(router.dropped(), 6)
  const worker = startWorker()
  worker.takeAll()
  assert.equal(worker.received.filter(({ from }) => from === OTHER).length, 6)
  assert.equal(worker.received.length, limits.workerConnectionsWaitingMax)
})

test('connections whose clients have left are not for workers', async (t) => {
  const { startWorker, open } = await setUp(t)
  for (const socket of await open(50, FLOOD)) socket.resetAndDestroy()
  await open(1, OTHER)
  for (const socket of await open(2, FLOOD)) socket.resetAndDestroy()
  await open(1, FLOOD)
  const worker = startWorker()
  worker.takeAll()
  assert.deepEqual(
    worker.received.map(({ from }) => from),
    [OTHER, FLOOD],
  )
})

test('a client that has closed its half of the connection is served', async (t) => {
  const { startWorker, open } = await setUp(t)
  const [socket] = await open(1, OTHER)
  socket?.end('GET /healthz HTTP/1.1\r\nhost: berth.test\r\n\r\n')
  await once(socket as Socket, 'finish')
  await iterations()
  const worker = startWorker()
  assert.equal(worker.received.length, 1)
})

test('connections of a trusted proxy take turns as those of many clients', async (t) => {
  const { startWorker, open } = await setUp(t, [`${OTHER}/32`])
  await open(3, FLOOD)
  await open(4, OTHER)
  const worker = startWorker()
  worker.takeAll()
  assert.deepEqual(
    worker.received.map(({ from }) => from),
    [FLOOD, OTHER, OTHER, OTHER, OTHER, FLOOD, FLOOD],
  )
})

test('connections of the operator do not wait for public ones that came before', async (t) => {
  const { startWorker, open } = await setUp(t)
  const worker = startWorker()
  await open(50, FLOOD)
  await open(1, FLOOD, 'metrics')
  worker.takeAll()
  const place = worker.received.findIndex(({ listener }) => listener === 'metrics')
  assert.ok(place <= 2, `after ${place} others`)
})

test('connections that wait when a worker ends during its stop go to another one', async (t) => {
  const { router, startWorker, open } = await setUp(t)
  const [ending, serving] = [startWorker(), startWorker()]
  await open(5, OTHER)
  router.stop()
  router.remove('public', ending.worker)
  router.forget(ending.worker)
  await iterations()
  serving.takeAll()
  assert.deepEqual([ending.received.length, serving.received.length], [1, 5])
  assert.equal(router.isBusy(), false)
})
