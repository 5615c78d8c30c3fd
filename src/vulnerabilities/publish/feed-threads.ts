import { Worker } from 'node:worker_threads'
import { type ApiError, unavailable } from '../../core/errors.ts'
import { limits } from '../../core/limits.ts'
import type { Db } from '../../storage/db.ts'
import type { MakingReply, MakingRequest } from './feed-thread.ts'
import { type FeedJob, makeFeed } from './make-feed.ts'

/** Makes feeds away from the event loop, within their time and memory. */
export interface FeedThreads {
  /** As makeFeed. Rejects with code 14 when too many wait already. */
  make(job: FeedJob): Promise<boolean>
  close(): Promise<void>
}

const RETRY_MS = 5000

/** Two threads: one for the feeds of everything, and one for documents that nobody should wait for behind those. */
export function feedThreads(db: Db): FeedThreads {
  const { source } = db
  // A database of this process alone, which no other thread can open.
  if (source === undefined) return withoutThreads(db)
  const whole = lane()
  const part = lane()
  return {
    make: (job) => (typeof job.feed === 'string' ? whole : part).make({ source, job }),
    async close() {
      await Promise.all([whole.close(), part.close()])
    },
  }
}

function withoutThreads(db: Db): FeedThreads {
  let isClosed = false
  return {
    async make(job) {
      if (isClosed) throw stopping()
      return makeFeed(db, job)
    },
    async close() {
      isClosed = true
    },
  }
}

/** One thread, started with its first job. */
function lane() {
  let worker: Worker | undefined
  let current: PromiseWithResolvers<boolean> | undefined
  let waiting = 0
  let turn: Promise<unknown> = Promise.resolve()
  let lastId = 0
  let isClosed = false

  const start = (): Worker => {
    const started = new Worker(new URL('./feed-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: limits.feedMakingMemoryMib },
    })
    const end = (cause: unknown) => {
      if (worker !== started) return
      worker = undefined
      current?.reject(new Error('the thread that made a feed ended', { cause }))
    }
    started.on('message', (reply: MakingReply) => {
      if ('made' in reply) current?.resolve(reply.made)
      else current?.reject(new Error(`a feed could not be made: ${reply.error}`))
    })
    started.on('error', end)
    started.on('exit', (code) => end(`exit code ${code}`))
    return started
  }

  const makeAlone = async (request: Omit<MakingRequest, 'id'>): Promise<boolean> => {
    if (isClosed) throw stopping()
    worker ??= start()
    const used = worker
    const reply = Promise.withResolvers<boolean>()
    current = reply
    const timer = setTimeout(() => void used.terminate(), limits.feedMakingMsMax)
    used.ref()
    used.postMessage({ ...request, id: ++lastId } satisfies MakingRequest)
    try {
      return await reply.promise
    } finally {
      clearTimeout(timer)
      used.unref()
      current = undefined
    }
  }

  return {
    make(request: Omit<MakingRequest, 'id'>): Promise<boolean> {
      if (waiting >= limits.feedsWaitingMax) return Promise.reject(busy())
      waiting++
      const made = turn
        .then(() => makeAlone(request))
        .finally(() => {
          waiting--
        })
      turn = made.catch(() => undefined)
      return made
    },
    async close() {
      isClosed = true
      await worker?.terminate()
    },
  }
}

function busy(): ApiError {
  return unavailable('too many feeds are being made', RETRY_MS)
}

function stopping(): ApiError {
  return unavailable('the server is stopping', RETRY_MS)
}
