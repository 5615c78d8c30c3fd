import { type ApiError, unavailable } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { createWorkerProcess } from '../../runtime/workers/worker-process.ts'
import type { Db } from '../../storage/db.ts'
import { buildFeed, type FeedJob } from './build-feed.ts'
import type { BuildRequest } from './feed-builder-process.ts'

/** Makes feeds away from the event loop, within their time and memory. */
export interface FeedBuilder {
  /** As makeFeed. Rejects with code 14 when too many wait already. */
  build(job: FeedJob): Promise<boolean>
  close(): Promise<void>
}

const RETRY_MS = 5000

/** Two processes: one for the feeds of everything, and one for documents that nobody should wait for behind those. */
export function createFeedBuilder(db: Db): FeedBuilder {
  const { source } = db
  const fullFeeds = createBuildQueue()
  const artifactDocuments = createBuildQueue()
  let isClosed = false
  return {
    async build(job) {
      if (isClosed) throw serverStopping()
      // A database of this process alone, which no other can open.
      if (source === undefined) return buildFeed(db, job)
      try {
        return await (typeof job.feed === 'string' ? fullFeeds : artifactDocuments).build({ source, job })
      } catch (error) {
        throw isClosed ? serverStopping() : error
      }
    },
    async close() {
      isClosed = true
      await Promise.all([fullFeeds.close(), artifactDocuments.close()])
    },
  }
}

/** What waits for one process is bounded. */
function createBuildQueue() {
  const worker = createWorkerProcess<BuildRequest, boolean>(
    new URL('./feed-builder-process.ts', import.meta.url),
    {
      msMax: limits.feedBuildMsMax,
      memoryMib: limits.feedBuildMemoryMib,
      idleMs: limits.workerProcessIdleMs,
    },
  )
  let waiting = 0
  return {
    async build(request: BuildRequest): Promise<boolean> {
      if (waiting >= limits.feedBuildsQueuedMax) throw tooManyBuilds()
      waiting++
      try {
        return await worker.run(request)
      } finally {
        waiting--
      }
    },
    close: () => worker.close(),
  }
}

function tooManyBuilds(): ApiError {
  return unavailable('too many feeds are being made', RETRY_MS)
}

function serverStopping(): ApiError {
  return unavailable('the server is stopping', RETRY_MS)
}
