import { type ApiError, unavailable } from '../../core/errors.ts'
import { limits } from '../../core/limits.ts'
import type { Db } from '../../storage/db.ts'
import { workerProcess } from '../../worker/worker-process.ts'
import type { MakingRequest } from './feed-process.ts'
import { type FeedJob, makeFeed } from './make-feed.ts'

/** Makes feeds away from the event loop, within their time and memory. */
export interface FeedProcesses {
  /** As makeFeed. Rejects with code 14 when too many wait already. */
  make(job: FeedJob): Promise<boolean>
  close(): Promise<void>
}

const RETRY_MS = 5000

/** Two processes: one for the feeds of everything, and one for documents that nobody should wait for behind those. */
export function feedProcesses(db: Db): FeedProcesses {
  const { source } = db
  const whole = lane()
  const part = lane()
  let isClosed = false
  return {
    async make(job) {
      if (isClosed) throw stopping()
      // A database of this process alone, which no other can open.
      if (source === undefined) return makeFeed(db, job)
      try {
        return await (typeof job.feed === 'string' ? whole : part).make({ source, job })
      } catch (error) {
        throw isClosed ? stopping() : error
      }
    },
    async close() {
      isClosed = true
      await Promise.all([whole.close(), part.close()])
    },
  }
}

/** What waits for one process is bounded. */
function lane() {
  const worker = workerProcess<MakingRequest, boolean>(new URL('./feed-process.ts', import.meta.url), {
    msMax: limits.feedMakingMsMax,
    memoryMib: limits.feedMakingMemoryMib,
    idleMs: limits.workerProcessIdleMs,
  })
  let waiting = 0
  return {
    async make(request: MakingRequest): Promise<boolean> {
      if (waiting >= limits.feedsWaitingMax) throw busy()
      waiting++
      try {
        return await worker.ask(request)
      } finally {
        waiting--
      }
    },
    close: () => worker.close(),
  }
}

function busy(): ApiError {
  return unavailable('too many feeds are being made', RETRY_MS)
}

function stopping(): ApiError {
  return unavailable('the server is stopping', RETRY_MS)
}
