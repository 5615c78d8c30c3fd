import type { ChildProcess } from 'node:child_process'
import { createServer, type Server, type Socket } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { bindOrFail } from '../config/bind-or-fail.ts'
import { limits } from '../config/limits.ts'
import type { ListenAddress } from '../config/setting-values.ts'
import type { ConnectionKeyOf } from '../port/connections.ts'
import { type BoundAddress, bind, EVENT_LOOP_ITERATIONS, socketOptions } from '../port/listen.ts'
import type { Log } from '../runtime/log.ts'
import { type ListenerName, send } from './messages.ts'
import { createWaitingConnections, type WaitingConnections } from './waiting-connections.ts'

/**
 * Accepts connections and passes each to a worker, in rotation. A worker receives the next one when it has taken the last one, so a worker
 * that hangs has at most one that it does not serve, and a worker that ends loses only those that it had taken. More in flight would not be
 * faster, because Node.js sends a process one socket at a time (ADR 80). The others wait here, where the addresses of clients take turns.
 */
export interface ConnectionRouter {
  readonly addresses: Readonly<Partial<Record<ListenerName, BoundAddress>>>
  /** The worker takes connections of this listener; those that are not ready only while no worker is. */
  add(listener: ListenerName, worker: ChildProcess): void
  markReady(worker: ChildProcess): void
  /** The worker has taken the first of the connections that it was sent. */
  markTaken(worker: ChildProcess): void
  /** Sends the worker no more connections, and tells it so. */
  remove(listener: ListenerName, worker: ChildProcess): void
  /** The worker has ended. Connections that it had not taken go to the others. */
  forget(worker: ChildProcess): void
  /** Whether connections are on their way to workers. */
  isBusy(): boolean
  /** Connections that were closed because too many waited. */
  dropped(): number
  /** From now on the first worker that is removed closes the listener: no other one is to take its connections. */
  stop(): void
}

interface RoutedListener {
  readonly name: ListenerName
  readonly server: Server
  readonly address: BoundAddress
  /** In the order of rotation. */
  workers: ChildProcess[]
  readonly waiting: WaitingConnections<Socket>
  /** Removals, one after the other. */
  removals: Promise<void>
}

interface SentConnection {
  readonly listener: RoutedListener
  readonly socket: Socket
}

export interface RoutedAddress {
  readonly name: ListenerName
  /** Names the address in errors. */
  readonly setting: string
  readonly address: ListenAddress
}

/** Throws a SetupError that names the setting if an address cannot be bound. Connections with the same key wait in one queue. */
export async function createConnectionRouter(
  addresses: readonly RoutedAddress[],
  keyOf: ConnectionKeyOf,
  log: Pick<Log, 'debug' | 'warn' | 'error'>,
): Promise<ConnectionRouter> {
  const listeners = new Map<ListenerName, RoutedListener>()
  /** In the order in which they pass their next connection. */
  let rotation: readonly RoutedListener[] = []
  const ready = new Set<ChildProcess>()
  /** Connections that a worker was sent and has not confirmed, in their order. This process keeps them open, for another worker. */
  const sent = new Map<ChildProcess, SentConnection[]>()
  let isStopping = false
  let dropped = 0
  let warnedMs: number | undefined

  const drop = (socket: Socket) => {
    socket.destroy()
    dropped++
    const nowMs = performance.now()
    if (warnedMs !== undefined && nowMs - warnedMs < limits.workerDropWarningMs) return
    warnedMs = nowMs
    log.warn({ dropped }, 'connections are closed: too many wait for a worker')
  }
  const pass = (listener: RoutedListener, worker: ChildProcess, socket: Socket) => {
    sent.set(worker, [...(sent.get(worker) ?? []), { listener, socket }])
    send(worker, { type: 'connection', listener: listener.name }, socket)
  }
  /** Returns the next worker in rotation that has taken what it was sent. */
  const nextWorker = ({ workers }: RoutedListener) => {
    const serving = workers.some((worker) => ready.has(worker)) ? ready : undefined
    return workers.find((one) => !sent.has(one) && serving?.has(one) !== false)
  }
  /** Returns false if no connection of the listener waits, or no worker can take one. */
  const passNext = (listener: RoutedListener) => {
    const worker = listener.waiting.size > 0 ? nextWorker(listener) : undefined
    const socket = worker && nextOpen(listener.waiting)
    if (worker === undefined || socket === undefined) return false
    listener.workers = [...listener.workers.filter((one) => one !== worker), worker]
    pass(listener, worker, socket)
    return true
  }
  /** The listeners take turns, so that connections of the public one do not delay those of the operator. */
  const passAll = () => {
    let next: RoutedListener | undefined
    do {
      next = rotation.find(passNext)
      if (next !== undefined) rotation = [...rotation.filter((one) => one !== next), next]
    } while (next !== undefined)
  }
  const open = async ({ name, setting, address }: RoutedAddress) => {
    const server = createServer({ ...socketOptions, pauseOnConnect: true })
    await bindOrFail(setting, address, () => bind(server, address))
    server.on('error', (err) => log.error({ err }, 'accepting connections failed'))
    const listener: RoutedListener = {
      name,
      server,
      address: server.address() as BoundAddress,
      workers: [],
      waiting: createWaitingConnections(limits.workerConnectionsWaitingMax),
      removals: Promise.resolve(),
    }
    server.on('connection', (socket) => {
      socket.on('error', (err) => log.debug({ err }, 'connection failed'))
      const { remoteAddress } = socket
      // Its client has left.
      if (remoteAddress === undefined) return socket.destroy()
      const surplus = listener.waiting.add(socket, keyOf(remoteAddress))
      if (surplus !== undefined) drop(surplus)
      return passAll()
    })
    listeners.set(name, listener)
    rotation = [...rotation, listener]
  }
  const removeNow = async (listener: RoutedListener, worker: ChildProcess) => {
    if (isStopping && listener.server.listening) {
      // What has arrived by now is accepted and served first: it would be reset otherwise.
      for (let count = 0; count < EVENT_LOOP_ITERATIONS; count++) await nextIteration()
      listener.server.close()
    }
    // The worker may have ended meanwhile: what waits is for the next one that stops.
    if (isStopping && listener.workers.includes(worker))
      for (let socket = nextOpen(listener.waiting); socket !== undefined; socket = nextOpen(listener.waiting))
        pass(listener, worker, socket)
    listener.workers = listener.workers.filter((one) => one !== worker)
    send(worker, { type: 'closed', listener: listener.name })
    passAll()
  }

  for (const address of addresses) await open(address)
  return {
    addresses: Object.fromEntries([...listeners].map(([name, { address }]) => [name, address])),
    add(name, worker) {
      listeners.get(name)?.workers.push(worker)
      passAll()
    },
    markReady(worker) {
      ready.add(worker)
      passAll()
    },
    markTaken(worker) {
      const [taken, ...others] = sent.get(worker) ?? []
      // The worker has it open.
      taken?.socket.destroy()
      if (others.length > 0) sent.set(worker, others)
      else sent.delete(worker)
      passAll()
    },
    remove(name, worker) {
      const listener = listeners.get(name)
      if (listener !== undefined)
        listener.removals = listener.removals.then(() => removeNow(listener, worker))
    },
    forget(worker) {
      ready.delete(worker)
      for (const { listener, socket } of sent.get(worker) ?? []) listener.waiting.putBack(socket)
      sent.delete(worker)
      for (const listener of listeners.values())
        listener.workers = listener.workers.filter((one) => one !== worker)
      passAll()
    },
    isBusy: () => sent.size > 0,
    dropped: () => dropped,
    stop() {
      isStopping = true
    },
  }
}

/** Removes the next connection whose client has not left; closes those before it. */
function nextOpen(waiting: WaitingConnections<Socket>): Socket | undefined {
  for (let socket = waiting.next(); socket !== undefined; socket = waiting.next())
    if (!hasLeft(socket)) return socket
  return undefined
}

/**
 * Tests whether a client has reset its connection. A client that has closed its half may still wait for a response. Reading would show more,
 * but it would take what the worker is to read; writing nothing fails after a reset.
 */
function hasLeft(socket: Socket): boolean {
  socket.write('')
  return socket.errored !== null || socket.destroyed
}
