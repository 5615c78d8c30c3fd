import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:os'
import { limits } from '../config/limits.ts'
import type { ListenAddress } from '../config/setting-values.ts'
import type { Log } from '../runtime/log.ts'
import { createConnectionRouter } from './connection-router.ts'
import { send, type ToSupervisor, type WorkerAssignment } from './messages.ts'
import { supervisorMetrics } from './supervisor-metrics.ts'
import { createWorkerMetrics } from './worker-metrics.ts'
import { createWriteTurns } from './write-turns.ts'

/**
 * Starts the workers of a server, passes them its connections, and starts those that end again. Each worker is a whole server except that it
 * binds no port; they share a database like nodes (ADR 80).
 */
export interface Supervisor {
  /** What the first worker has to say when all are ready; never resolves if the workers end before. */
  readonly ready: Promise<string>
  /** The exit code of the server, when all workers have ended. */
  readonly ended: Promise<number>
  /** Sends the workers the signal, which stops them. */
  stop(signal: 'SIGTERM' | 'SIGINT'): void
  /** Lets the workers read the settings again that can change. */
  reload(): void
}

export interface SupervisorOptions {
  readonly config: {
    readonly workers: number
    readonly listen: ListenAddress
    readonly metricsListen: ListenAddress | undefined
    readonly drainDelayMs: number
    readonly stopGraceMs: number
  }
  readonly dev: boolean
  /** The program of a worker. */
  readonly module: URL
  /** The environment of the worker processes. */
  readonly processEnv: Readonly<Record<string, string | undefined>>
  /** The environment of the server, with its file. */
  readonly env: WorkerAssignment['env']
  /** Exit code of a worker that may succeed later without a change: such starts are tried until they do. */
  readonly retryCode: number
  readonly log: Log
}

/** The place of a worker, which processes hold one after the other. */
interface Place {
  readonly number: number
  process: ChildProcess | undefined
  isReady: boolean
  /** Starts in a row that did not become ready. */
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
  const { config, dev, module, processEnv, env, retryCode, log } = options
  const router = await createConnectionRouter(
    [
      { name: 'public' as const, setting: 'BERTH_LISTEN', address: config.listen },
      ...(config.metricsListen === undefined
        ? []
        : [{ name: 'metrics' as const, setting: 'BERTH_METRICS_LISTEN', address: config.metricsListen }]),
    ],
    log,
  )
  const ready = Promise.withResolvers<string>()
  const ended = Promise.withResolvers<number>()
  const places = Array.from(
    { length: config.workers },
    (_, index): Place => ({
      number: index + 1,
      process: undefined,
      isReady: false,
      failedStarts: 0,
      pauseMs: limits.workerRestartMs,
      restart: undefined,
      missedPings: 0,
    }),
  )
  const ticketKeys = randomBytes(TICKET_KEYS_BYTES).toString('base64')
  const writeTurns = createWriteTurns()
  let notice: string | undefined
  let isStopping = false
  let exitCode = 0
  let restarts = 0
  const readyWorkers = () =>
    places.flatMap(({ process, isReady }) => (process !== undefined && isReady ? [process] : []))
  const metrics = createWorkerMetrics(
    readyWorkers,
    () => supervisorMetrics({ ready: readyWorkers().length, restarts }),
    (err) => log.error({ err }, 'the counts of a worker that ended are lost'),
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
        case 'write-requested':
          return writeTurns.request(worker)
        case 'write-released':
          return writeTurns.release(worker)
        case 'metrics':
          return metrics.request(worker, message.id, message.own)
        case 'collected':
          return metrics.receive(worker, message.id, message.snapshot)
      }
    })
    log.info({ worker: number, pid: worker.pid }, 'a worker started')
    let isOver = false
    const onEnd = (code: number) => {
      if (isOver) return
      isOver = true
      router.forget(worker)
      metrics.forget(worker)
      writeTurns.forget(worker)
      place.process = undefined
      onExit(place, code, performance.now() - startedMs)
    }
    worker.on('error', (err) => {
      log.error({ err, worker: number }, 'a worker process failed')
      if (worker.pid === undefined) onEnd(FAILED)
    })
    worker.on('exit', (code, signal) => {
      log.info({ worker: number, pid: worker.pid, code, signal }, 'a worker ended')
      onEnd(code ?? 128 + constants.signals[signal ?? 'SIGKILL'])
    })
    const assignment: WorkerAssignment = {
      number,
      count: config.workers,
      isLater: notice !== undefined,
      dev,
      env,
      ticketKeys,
      listeners: router.addresses,
    }
    send(worker, { type: 'assignment', assignment })
  }

  const onReady = (place: Place, worker: ChildProcess, text: string) => {
    const isFirst = notice === undefined
    notice ??= text
    place.isReady = true
    place.failedStarts = 0
    router.markReady(worker)
    // The first one migrates the database and creates keys alone.
    if (isFirst) for (const other of places) if (other !== place) start(other)
    if (places.every(({ isReady }) => isReady)) ready.resolve(notice)
  }

  const onExit = (place: Place, code: number, livedMs: number) => {
    const wasReady = place.isReady
    place.isReady = false
    if (isStopping) {
      if (exitCode !== SHUTDOWN_TIMEOUT && (exitCode === 0 || code === SHUTDOWN_TIMEOUT)) exitCode = code
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
    else if (code !== retryCode) place.failedStarts++
    if (place.failedStarts >= limits.workerStartsMax) {
      log.error(
        { worker: place.number, code },
        `a worker could not start ${limits.workerStartsMax} times in a row: the server stops`,
      )
      exitCode = code === 0 ? FAILED : code
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
    if (places.every(({ process }) => process === undefined)) ended.resolve(exitCode)
  }

  const killAll = (name: NodeJS.Signals) => {
    for (const { process } of places) process?.kill(name)
  }

  const stop = (name: 'SIGTERM' | 'SIGINT') => {
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
      if (place.process === undefined || !place.isReady) continue
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
    stop,
    reload() {
      // A worker that starts reads everything again; the signal would end it.
      for (const worker of readyWorkers()) worker.kill('SIGHUP')
    },
  }
}
