import { type ChildProcess, fork, type Serializable } from 'node:child_process'
import { getPriority, setPriority } from 'node:os'
import { isStreamMessage, type OpenStream, serveStreams } from './process-streams.ts'

/**
 * Work in a process of its own, within time and memory. A thread would not do: one that fills its heap may end the whole process with
 * it, server and all.
 */
export interface WorkerProcess<Request, Reply> {
  /**
   * One request after the other. Rejects with a WorkerFailure; the next request is met by a new process. `open`: opens the streams that the
   * process reads for this request (`readParentStream`).
   */
  run(request: Request, open?: OpenStream): Promise<Reply>
  /** Ends the process, and the request that it runs. */
  close(): Promise<void>
}

export interface WorkerBounds {
  /** Of one request, from when the process is ready: starting takes no request's time. */
  readonly msMax: number
  readonly memoryMib: number
  /** A process without work ends after this, milliseconds. */
  readonly idleMs: number
  /** Whether requests to the server come first where both need the same core; false by default. */
  readonly isBackground?: boolean
}

export class WorkerFailure extends Error {
  override readonly name = 'WorkerFailure'
  readonly reason: 'time' | 'memory' | 'ended' | 'failed'

  constructor(reason: WorkerFailure['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

/** What goes through the channel: a process says first that it is ready. */
export type WorkerMessage<Reply> = 'ready' | { readonly reply: Reply } | { readonly error: string }

/** V8 aborts when a heap is full. */
const HEAP_FULL = 'SIGABRT'

/** A process that runs a module (which calls `serveProcessRequests`), started with the first request. */
export function createWorkerProcess<Request extends Serializable, Reply>(
  module: URL,
  { msMax, memoryMib, idleMs, isBackground = false }: WorkerBounds,
): WorkerProcess<Request, Reply> {
  let idle: NodeJS.Timeout | undefined
  let running: ReturnType<typeof startProcess<Request, Reply>> | undefined
  let lastRun: Promise<unknown> = Promise.resolve()
  let isClosed = false

  const runExclusively = async (request: Request, open: OpenStream | undefined): Promise<Reply> => {
    if (isClosed) throw new WorkerFailure('ended', 'the worker process was closed')
    clearTimeout(idle)
    if (running === undefined || running.isOver())
      running = startProcess<Request, Reply>(module, memoryMib, isBackground)
    try {
      return await running.ask(request, msMax, open)
    } finally {
      const resting = running
      idle = setTimeout(() => void resting.end(), idleMs).unref()
    }
  }

  return {
    run(request, open) {
      const reply = lastRun.then(() => runExclusively(request, open))
      lastRun = reply.catch(() => undefined)
      return reply
    },
    async close() {
      isClosed = true
      clearTimeout(idle)
      await running?.end()
    },
  }
}

function startProcess<Request extends Serializable, Reply>(
  module: URL,
  memoryMib: number,
  isBackground: boolean,
) {
  const child = fork(module, {
    execArgv: [`--max-old-space-size=${memoryMib}`],
    serialization: 'advanced',
    // V8's report about a full heap does not belong in the log.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  if (isBackground) lowerPriority(child)
  keepAlive(child, false)
  const ready = Promise.withResolvers<void>()
  const exited = Promise.withResolvers<void>()
  let current: PromiseWithResolvers<Reply> | undefined
  let isOver = false

  child.on('message', (message: WorkerMessage<Reply>) => {
    if (message === 'ready') ready.resolve()
    else if (isStreamMessage(message)) return
    else if ('reply' in message) current?.resolve(message.reply)
    else current?.reject(new WorkerFailure('failed', message.error))
  })
  const end = (why: WorkerFailure) => {
    isOver = true
    ready.resolve()
    exited.resolve()
    current?.reject(why)
  }
  child.on('error', (error) => end(new WorkerFailure('ended', error.message)))
  child.on('exit', (code, signal) =>
    end(
      signal === HEAP_FULL
        ? new WorkerFailure('memory', `the worker process needs more than ${memoryMib} MiB`)
        : new WorkerFailure('ended', `the worker process ended: ${signal ?? `exit code ${code}`}`),
    ),
  )

  const kill = () => {
    isOver = true
    child.kill('SIGKILL')
  }

  return {
    isOver: () => isOver,
    async ask(request: Request, msMax: number, open: OpenStream | undefined): Promise<Reply> {
      const reply = Promise.withResolvers<Reply>()
      const closeStreams = open && serveStreams(child, open)
      current = reply
      keepAlive(child, true)
      let timer: NodeJS.Timeout | undefined
      try {
        await ready.promise
        timer = setTimeout(() => {
          reply.reject(new WorkerFailure('time', `the worker process takes longer than ${msMax / 1000} s`))
          kill()
        }, msMax)
        // If it could not be sent, the end of the process reports it.
        child.send(request, () => undefined)
        return await reply.promise
      } finally {
        clearTimeout(timer)
        closeStreams?.()
        keepAlive(child, false)
        current = undefined
      }
    },
    async end() {
      kill()
      await exited.promise
    },
  }
}

/** Added to the nice value: on a busy core, a third of the time of the server. With much less, work could exceed its time. */
const BACKGROUND_NICE = 5
const NICE_MAX = 19

/** Called as soon as the process exists: its threads inherit the priority when they start. */
function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    setPriority(pid, Math.min(NICE_MAX, getPriority() + BACKGROUND_NICE))
  } catch {
    // It has ended already, which its exit reports.
  }
}

/** Whether this process stays for the other one. */
function keepAlive(child: ChildProcess, isNeeded: boolean): void {
  const keep = isNeeded ? 'ref' : 'unref'
  child[keep]()
  child.channel?.[keep]()
}
