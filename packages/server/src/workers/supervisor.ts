import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:os'
import { limits } from '../config/limits.ts'
import type { ListenAddress } from '../config/setting-values.ts'
import { createConnectionKeys } from '../port/connections.ts'
import type { Log } from '../runtime/log.ts'
import { createSupervisorMetrics } from '../telemetry/workers/supervisor-metrics.ts'
import { createConnectionRouter } from './connection-router.ts'
import {
  type FilesInUse,
  type ReloadedSettings,
  send,
  type ToSupervisor,
  type WorkerAssignment,
  type WorkerEnvironment,
} from './messages.ts'
import { createWorkerMetrics } from './worker-metrics.ts'
import { createWriteLockQueue } from './write-lock-queue.ts'

/**
 * Starts the workers of a server, passes them its connections, and starts those that end again. Each worker is a whole server except that it
 * binds no port; they share a database like nodes (ADR 80).
 */
export interface Supervisor {
  /** What the server prints when all workers are ready; never resolves if they end before. */
  readonly ready: Promise<string>
  /** Resolves when all workers have ended. */
  readonly ended: Promise<ServerEnd>
  /** Whether connections are on their way to workers. */
  isBusy(): boolean
  /** Sends the workers the signal, which stops them. */
  stop(signal: StopSignal): void
  /** Lets the workers apply settings that can change and read files again; those that are starting, when they are ready. */
  reload(settings: ReloadedSettings): void
}

type StopSignal = 'SIGTERM' | 'SIGINT'

/** How the server ends: by an exit code, or by the signal that stopped it before a worker was ready, as a server without workers. */
export type ServerEnd = { readonly code: number } | { readonly signal: StopSignal }

export interface SupervisorOptions {
  readonly config: {
    readonly workers: number
    readonly listen: ListenAddress
    readonly metricsListen: ListenAddress | undefined
    readonly trustedProxies: readonly string[]
    readonly drainDelayMs: number
    readonly stopGraceMs: number
  }
  readonly dev: boolean
  /** Of the program that this process runs: the files on the disk may become those of another version. */
  readonly version: string
  /** The program of a worker. */
  readonly module: URL
  /** The environment of the worker processes. */
  readonly processEnv: WorkerEnvironment
  /** The environment of the server, with its file. */
  readonly env: WorkerEnvironment
  /** Exit code of a worker that may succeed later without a change: such starts never end the server. */
  readonly retryCode: number
  readonly log: Log
}

/** The place of a worker, which processes hold one after the other. */
interface Place {
  readonly number: number
  process: ChildProcess | undefined
  isReady: boolean
  /** The last reload whose settings and files the process has. */
  reload: number
  /** The process cannot start before the server is started again. */
  needsRestart: boolean
  /** Starts in a row that did not become ready while no worker was ready. */
  failedStarts: number
  /** Before the next start. */
  pauseMs: number
  restart: NodeJS.Timeout | undefined
  /** Pings in a row without a response. */
  missedPings: number
}

const FAILED = 1
/** What Node.js requires. */
const TICKET_KEYS_BYTES = 48
const SHUTDOWN_TIMEOUT = 124
/** Time for a worker to end after its own deadline for stopping. */
const KILL_DELAY_MS = 2000
const MISSED_PINGS_MAX = 6
const PING_MS = limits.workerUnresponsiveMs / MISSED_PINGS_MAX

/** Throws a SetupError if an address cannot be bound. */
export async function startSupervisor(options: SupervisorOptions): Promise<Supervisor> {
  const { config, dev, version, module, processEnv, env, retryCode, log } = options
  const router = await createConnectionRouter(
    [
      { name: 'public' as const, setting: 'BERTH_LISTEN', address: config.listen },
      ...(config.metricsListen === undefined
        ? []
        : [{ name: 'metrics' as const, setting: 'BERTH_METRICS_LISTEN', address: config.metricsListen }]),
    ],
    createConnectionKeys(config.trustedProxies),
    log,
  )
  const ready = Promise.withResolvers<string>()
  const ended = Promise.withResolvers<ServerEnd>()
  const places = Array.from(
    { length: config.workers },
    (_, index): Place => ({
      number: index + 1,
      process: undefined,
      isReady: false,
      reload: 0,
      needsRestart: false,
      failedStarts: 0,
      pauseMs: limits.workerRestartMs,
      restart: undefined,
      missedPings: 0,
    }),
  )
  const ticketKeys = randomBytes(TICKET_KEYS_BYTES).toString('base64')
  const writeLockQueue = createWriteLockQueue()
  let notice: string | undefined
  let isStopping = false
  let signalled: StopSignal | undefined
  let exitCode = 0
  let restarts = 0
  let reloadedEnv = env
  let lastReload = 0
  let files: FilesInUse | undefined
  /** The last reload that `files` are from. */
  let filesReload = 0
  /** Why workers cannot start before the server is started again: logged once. */
  let restartReason: string | undefined
  const readyWorkers = () =>
    places.flatMap(({ process, isReady }) => (process !== undefined && isReady ? [process] : []))
  const metrics = createWorkerMetrics(
    readyWorkers,
    createSupervisorMetrics(() => ({
      configured: config.workers,
      ready: readyWorkers().length,
      restarts,
      droppedConnections: router.dropped(),
    })),
    (err) => log.error({ err }, 'adding up the metrics of the workers failed'),
  )

  const start = (place: Place) => {
    const worker = fork(module, {
      env: processEnv as NodeJS.ProcessEnv,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const startedMs = performance.now()
    place.process = worker
    place.isReady = false
    place.missedPings = 0
    place.reload = filesReload
    place.needsRestart = false
    const { number } = place
    worker.on('message', (message: ToSupervisor) => {
      switch (message.type) {
        case 'listening':
          return router.add(message.listener, worker)
        case 'accepted':
          return router.markTaken(worker)
        case 'closing':
          return router.remove(message.listener, worker)
        case 'ready':
          return onReady(place, worker, message.notice)
        case 'pong':
          place.missedPings = 0
          return undefined
        case 'files':
          // A worker that was starting meanwhile has files of before the reload.
          if (message.reload < filesReload) return undefined
          files = message.files
          filesReload = message.reload
          return undefined
        case 'restart-required':
          return onRestartRequired(place, message.reason)
        case 'write-requested':
          return writeLockQueue.request(worker)
        case 'write-released':
          return writeLockQueue.release(worker)
        case 'metrics':
          return metrics.request(worker, message.id)
        case 'collected':
          return metrics.receive(worker, message.snapshot, message.round)
      }
    })
    log.info({ worker: number, pid: worker.pid }, 'a worker started')
    let isOver = false
    const onEnd = (code: number) => {
      if (isOver) return
      isOver = true
      router.forget(worker)
      metrics.forget(worker)
      writeLockQueue.forget(worker)
      place.process = undefined
      onExit(place, code, performance.now() - startedMs)
    }
    worker.on('error', (err) => {
      log.error({ err, worker: number }, 'a worker process failed')
      if (worker.pid === undefined) onEnd(FAILED)
    })
    // Not `exit`, which may come before its last messages.
    worker.on('close', (code, signal) => {
      log.info({ worker: number, pid: worker.pid, code, signal }, 'a worker ended')
      onEnd(code ?? 128 + constants.signals[signal ?? 'SIGKILL'])
    })
    const assignment: WorkerAssignment = {
      version,
      number,
      count: config.workers,
      isLater: notice !== undefined,
      dev,
      env,
      reloadedEnv,
      ...(files !== undefined && { files }),
      reload: filesReload,
      ticketKeys,
      listeners: router.addresses,
    }
    send(worker, { type: 'assignment', assignment })
  }

  const onReady = (place: Place, worker: ChildProcess, text: string) => {
    const isFirst = notice === undefined
    notice ??= text
    place.isReady = true
    for (const one of places) one.failedStarts = 0
    restartReason = undefined
    router.markReady(worker)
    if (place.reload < lastReload) sendReload(place, { env: reloadedEnv })
    // The first one migrates the database and creates keys alone.
    if (isFirst) for (const other of places) if (other !== place) start(other)
    if (places.every(({ isReady }) => isReady)) ready.resolve(notice)
  }

  const onRestartRequired = (place: Place, reason: string) => {
    place.needsRestart = true
    place.pauseMs = limits.workerRestartMsMax
    if (reason !== restartReason) log.error({ worker: place.number }, reason)
    restartReason = reason
  }

  /** Why the server ends: no worker serves, and none will; undefined if one does or may. Without a code, that of the worker applies. */
  const findEndReason = (): { readonly text: string; readonly code?: number } | undefined => {
    if (readyWorkers().length > 0) return undefined
    if (places.some(({ needsRestart }) => needsRestart))
      return {
        text: 'no worker is ready, and none can start before the server is started again: the server stops',
        code: retryCode,
      }
    const hasFailed = places.every(({ failedStarts }) => failedStarts >= limits.workerStartsMax)
    return hasFailed
      ? {
          text: `no worker is ready, and each could not start ${limits.workerStartsMax} times in a row: the server stops`,
        }
      : undefined
  }

  const onExit = (place: Place, code: number, livedMs: number) => {
    const wasReady = place.isReady
    place.isReady = false
    if (isStopping) {
      // A signal ends a worker that is starting.
      if (wasReady && exitCode !== SHUTDOWN_TIMEOUT && (exitCode === 0 || code === SHUTDOWN_TIMEOUT))
        exitCode = code
      finishIfEnded()
      return
    }
    if (notice === undefined) {
      // It has printed why.
      exitCode = code === 0 ? FAILED : code
      stop('SIGTERM')
      return
    }
    if (wasReady) restarts++
    else if (code !== retryCode && readyWorkers().length === 0) place.failedStarts++
    const endReason = findEndReason()
    if (endReason !== undefined) {
      log.error({ worker: place.number, code }, endReason.text)
      exitCode = endReason.code ?? (code === 0 ? FAILED : code)
      stop('SIGTERM')
      return
    }
    if (wasReady && livedMs >= limits.workerStableMs) place.pauseMs = limits.workerRestartMs
    log.warn({ worker: place.number, code, pauseMs: place.pauseMs }, 'a worker is started again')
    place.restart = setTimeout(() => {
      place.restart = undefined
      start(place)
    }, place.pauseMs)
    place.pauseMs = Math.min(2 * place.pauseMs, limits.workerRestartMsMax)
  }

  const finishIfEnded = () => {
    if (places.some(({ process }) => process !== undefined)) return
    const isSignal = signalled !== undefined && notice === undefined && exitCode === 0
    ended.resolve(isSignal ? { signal: signalled as StopSignal } : { code: exitCode })
  }

  const killAll = (name: NodeJS.Signals) => {
    for (const { process } of places) process?.kill(name)
  }

  const sendReload = (place: Place, settings: ReloadedSettings) => {
    if (place.process === undefined || !place.isReady) return
    place.reload = lastReload
    send(place.process, { type: 'reload', reload: lastReload, settings })
  }

  const stop = (name: StopSignal) => {
    killAll(name)
    if (isStopping) return
    isStopping = true
    router.stop()
    clearInterval(pinging)
    for (const { restart } of places) clearTimeout(restart)
    const timeoutMs = config.drainDelayMs + config.stopGraceMs + limits.stopClosingMs + KILL_DELAY_MS
    setTimeout(() => {
      exitCode = SHUTDOWN_TIMEOUT
      log.error({}, 'stopping took too long: the remaining workers are killed')
      killAll('SIGKILL')
    }, timeoutMs).unref()
    finishIfEnded()
  }

  // By the number of pings, not by the clock: all processes may have been suspended together.
  const pinging = setInterval(() => {
    for (const place of places) {
      // The first start may migrate the database, for longer than this.
      if (place.process === undefined || notice === undefined) continue
      if (place.missedPings >= MISSED_PINGS_MAX) {
        log.error({ worker: place.number }, 'a worker does not respond and is killed')
        place.process.kill('SIGKILL')
      }
      place.missedPings++
      send(place.process, { type: 'ping' })
    }
  }, PING_MS)

  for (const [listener, { address, family, port }] of Object.entries(router.addresses))
    log.info(
      {
        listener,
        url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
        workers: config.workers,
      },
      'listening',
    )
  start(places[0] as Place)
  return {
    ready: ready.promise,
    ended: ended.promise,
    isBusy: router.isBusy,
    stop(signal) {
      signalled ??= signal
      stop(signal)
    },
    reload(settings) {
      lastReload++
      if ('env' in settings) reloadedEnv = settings.env
      for (const place of places) sendReload(place, settings)
    },
  }
}
