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
 * that hangs has at most one that it does not serve, and a worker that ends loses only those that it had taken (ADR 80).
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

/** Throws a SetupError that names the setting if an address cannot be bound. */
export async function createConnectionRouter(
  addresses: readonly RoutedAddress[],
  log: Pick<Log, 'debug' | 'error'>,
): Promise<ConnectionRouter> {
  const listeners = new Map<ListenerName, RoutedListener>()
  const ready = new Set<ChildProcess>()
  /** Connections that a worker was sent and has not confirmed, in their order. This process keeps them open, for another worker. */
  const sent = new Map<ChildProcess, SentConnection[]>()
  let isStopping = false

  const pass = (listener: RoutedListener, worker: ChildProcess, socket: Socket) => {
    sent.set(worker, [...(sent.get(worker) ?? []), { listener, socket }])
    send(worker, { type: 'connection', listener: listener.name }, socket)
  }
  const passWaiting = (listener: RoutedListener) => {
    while (listener.waiting.length > 0) {
      const { workers } = listener
      const serving = workers.some((worker) => ready.has(worker)) ? ready : undefined
      const worker = workers.find((one) => !sent.has(one) && serving?.has(one) !== false)
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
      for (const { listener, socket } of sent.get(worker) ?? []) listener.waiting.unshift(socket)
      sent.delete(worker)
      for (const listener of listeners.values())
        listener.workers = listener.workers.filter((one) => one !== worker)
      passAll()
    },
    stop() {
      isStopping = true
    },
  }
}
