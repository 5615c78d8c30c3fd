import type { ChildProcess } from 'node:child_process'
import { createServer, type Server, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { bindOrFail } from '../config/bind-or-fail.ts'
import { limits } from '../config/limits.ts'
import type { ListenAddress } from '../config/setting-values.ts'
import { type BoundAddress, bind, EVENT_LOOP_TURNS, socketOptions } from '../port/listen.ts'
import type { Log } from '../runtime/log.ts'
import { type ListenerName, send } from './messages.ts'

/**
 * Accepts connections and passes each to a worker, in rotation. A worker receives the next one when it has taken the last one, so a worker
 * that hangs has at most one that it does not serve, and a worker that ends loses only its own (ADR 80).
 */
export interface ConnectionRouter {
  readonly addresses: Readonly<Partial<Record<ListenerName, BoundAddress>>>
  /** The worker takes connections of this listener; those that are not ready only while no worker is. */
  add(listener: ListenerName, worker: ChildProcess): void
  markReady(worker: ChildProcess): void
  /** The worker has taken the connection that it was sent. */
  markFree(worker: ChildProcess): void
  /** Sends the worker no more connections, and tells it so. */
  remove(listener: ListenerName, worker: ChildProcess): void
  /** The worker has ended. */
  forget(worker: ChildProcess): void
  /** From now on the first worker that is removed closes the listener: no other one is to take its connections. */
  stop(): void
}

interface RoutedListener {
  readonly name: ListenerName
  readonly server: Server
  readonly address: BoundAddress
  /** In the order of rotation. */
  workers: ChildProcess[]
  readonly waiting: Socket[]
  /** Removals, one after the other. */
  removals: Promise<void>
}

export interface RoutedAddress {
  readonly name: ListenerName
  /** Names the address in errors. */
  readonly setting: string
  readonly address: ListenAddress
}

/** Throws a SetupError that names the setting if an address cannot be bound. */
export async function createConnectionRouter(
  addresses: readonly RoutedAddress[],
  log: Pick<Log, 'debug' | 'error'>,
): Promise<ConnectionRouter> {
  const listeners = new Map<ListenerName, RoutedListener>()
  const ready = new Set<ChildProcess>()
  const busy = new Set<ChildProcess>()
  let isStopping = false

  const pass = (listener: RoutedListener, worker: ChildProcess, socket: Socket) => {
    busy.add(worker)
    send(worker, { type: 'connection', listener: listener.name }, socket)
  }
  const passWaiting = (listener: RoutedListener) => {
    while (listener.waiting.length > 0) {
      const { workers } = listener
      const serving = workers.some((worker) => ready.has(worker)) ? ready : undefined
      const worker = workers.find((one) => !busy.has(one) && serving?.has(one) !== false)
      if (worker === undefined) return
      listener.workers = [...workers.filter((one) => one !== worker), worker]
      pass(listener, worker, listener.waiting.shift() as Socket)
    }
  }
  const passAll = () => {
    for (const listener of listeners.values()) passWaiting(listener)
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
      waiting: [],
      removals: Promise.resolve(),
    }
    server.on('connection', (socket) => {
      socket.on('error', (err) => log.debug({ err }, 'connection failed'))
      if (listener.waiting.length >= limits.workerConnectionsWaitingMax) socket.destroy()
      else listener.waiting.push(socket)
      passWaiting(listener)
    })
    listeners.set(name, listener)
  }
  const removeNow = async (listener: RoutedListener, worker: ChildProcess) => {
    if (isStopping && listener.server.listening) {
      // What has arrived by now is accepted and served first: it would be reset otherwise.
      for (let turn = 0; turn < EVENT_LOOP_TURNS; turn++) await nextTurn()
      listener.server.close()
      for (const socket of listener.waiting.splice(0)) pass(listener, worker, socket)
    }
    listener.workers = listener.workers.filter((one) => one !== worker)
    send(worker, { type: 'closed', listener: listener.name })
    passWaiting(listener)
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
    markFree(worker) {
      busy.delete(worker)
      passAll()
    },
    remove(name, worker) {
      const listener = listeners.get(name)
      if (listener !== undefined)
        listener.removals = listener.removals.then(() => removeNow(listener, worker))
    },
    forget(worker) {
      ready.delete(worker)
      busy.delete(worker)
      for (const listener of listeners.values())
        listener.workers = listener.workers.filter((one) => one !== worker)
      passAll()
    },
    stop() {
      isStopping = true
    },
  }
}
