import { Worker } from 'node:worker_threads'
import { WorkerFailure } from './worker-process.ts'

/**
 * A few threads for short work whose memory is bounded before it starts (ADR 15). Work that may fill its heap belongs in a process
 * (worker-process.ts).
 */
export interface ThreadPool<Request, Reply> {
  /**
   * Runs a request as soon as a thread is free, in the order of the calls. Rejects with a WorkerFailure; the next request is run. The
   * thread gets the memory of `moved` instead of a copy: the caller can no longer use it.
   */
  run(request: Request, moved?: readonly ArrayBuffer[]): Promise<Reply>
  counts(): ThreadCounts
  /** Ends all threads, and the requests that they run or that wait. */
  close(): Promise<void>
}

export interface ThreadCounts {
  readonly threads: number
  readonly running: number
  readonly waiting: number
  /** Requests that were run so far. */
  readonly done: number
}

export interface ThreadBounds {
  readonly threadsMax: number
  /** Of one request, from when its thread starts or gets it, milliseconds. */
  readonly msMax: number
  readonly heapMib: number
  /** A thread without work ends after this, milliseconds. */
  readonly idleMs: number
}

export type ThreadReply<Reply> = { readonly reply: Reply } | { readonly error: string }

interface Job<Request, Reply> {
  readonly request: Request
  readonly transferList: readonly ArrayBuffer[]
  readonly waiter: PromiseWithResolvers<Reply>
}

interface Thread<Request, Reply> {
  readonly worker: Worker
  job: Job<Request, Reply> | undefined
  timer: NodeJS.Timeout | undefined
}

/** Threads that run a module (which calls `serveThreadRequests`), started with the first requests. */
export function createThreadPool<Request, Reply>(
  module: URL,
  { threadsMax, msMax, heapMib, idleMs }: ThreadBounds,
  /** Tests end threads with it. */
  onStart: (worker: Worker) => void = () => undefined,
): ThreadPool<Request, Reply> {
  const threads = new Set<Thread<Request, Reply>>()
  const waiting: Job<Request, Reply>[] = []
  let done = 0
  let isClosed = false

  const end = (thread: Thread<Request, Reply>, why: WorkerFailure) => {
    if (!threads.delete(thread)) return
    clearTimeout(thread.timer)
    thread.job?.waiter.reject(why)
    void thread.worker.terminate()
    startWaiting()
  }

  const start = (): Thread<Request, Reply> => {
    const worker = new Worker(module, { resourceLimits: { maxOldGenerationSizeMb: heapMib } })
    const thread: Thread<Request, Reply> = { worker, job: undefined, timer: undefined }
    threads.add(thread)
    worker.on('message', (reply: ThreadReply<Reply>) => {
      const { job } = thread
      thread.job = undefined
      done++
      if ('reply' in reply) job?.waiter.resolve(reply.reply)
      else job?.waiter.reject(new WorkerFailure('failed', reply.error))
      startIdleTimer(thread)
      startWaiting()
    })
    worker.on('error', (error) => {
      const isFull = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'
      end(thread, new WorkerFailure(isFull ? 'memory' : 'ended', `a worker thread ended: ${error.message}`))
    })
    worker.on('exit', (code) =>
      end(thread, new WorkerFailure('ended', `a worker thread ended: exit code ${code}`)),
    )
    onStart(worker)
    return thread
  }

  const startIdleTimer = (thread: Thread<Request, Reply>) => {
    clearTimeout(thread.timer)
    // A thread without work does not keep the process running.
    thread.worker.unref()
    thread.timer = setTimeout(
      () => end(thread, new WorkerFailure('ended', 'the thread was idle')),
      idleMs,
    ).unref()
  }

  const assign = (thread: Thread<Request, Reply>, job: Job<Request, Reply>) => {
    clearTimeout(thread.timer)
    thread.job = job
    thread.worker.ref()
    thread.timer = setTimeout(
      () => end(thread, new WorkerFailure('time', `a worker thread takes longer than ${msMax / 1000} s`)),
      msMax,
    )
    thread.worker.postMessage(job.request, job.transferList)
  }

  const startWaiting = () => {
    while (waiting.length > 0 && !isClosed) {
      const idle = [...threads].find(({ job }) => job === undefined)
      const thread = idle ?? (threads.size < threadsMax ? start() : undefined)
      const job = thread && waiting.shift()
      if (thread === undefined || job === undefined) return
      assign(thread, job)
    }
  }

  return {
    run(request, transferList = []) {
      if (isClosed) return Promise.reject(new WorkerFailure('ended', 'the threads were closed'))
      const waiter = Promise.withResolvers<Reply>()
      waiting.push({ request, transferList, waiter })
      startWaiting()
      return waiter.promise
    },
    counts: () => ({
      threads: threads.size,
      running: [...threads].filter(({ job }) => job !== undefined).length,
      waiting: waiting.length,
      done,
    }),
    async close() {
      isClosed = true
      const closed = new WorkerFailure('ended', 'the threads were closed')
      for (const { waiter } of waiting.splice(0)) waiter.reject(closed)
      await Promise.all(
        [...threads].map(({ worker }) => {
          worker.ref()
          return worker.terminate()
        }),
      )
    },
  }
}
