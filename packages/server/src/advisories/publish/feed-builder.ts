import { type ApiError, unavailable } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { createWorkerProcess } from '../../runtime/workers/worker-process.ts'
import type { Db } from '../../storage/db.ts'
import { buildFeed, type FeedJob } from './build-feed.ts'
import type { BuildRequest } from './feed-builder-process.ts'

/** Builds published feeds off the event loop, within a time and memory limit. */
export interface FeedBuilder {
  /** Like buildFeed. Rejects with code 14 if the queue is full. */
  build(job: FeedJob): Promise<boolean>
  close(): Promise<void>
}

const RETRY_MS = 5000

/** Two processes: one for complete feeds, one for single documents, which should not wait for those. */
export function createFeedBuilder(db: Db): FeedBuilder {
  const { source } = db
  const fullFeeds = createBuildQueue()
  const artifactDocuments = createBuildQueue()
  let isClosed = false
  return {
    async build(job) {
      if (isClosed) throw serverStopping()
      // An in-memory database, which other processes cannot open.
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

/** Limits the number of waiting jobs. */
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
  return unavailable('too many feeds are being built', RETRY_MS)
}

function serverStopping(): ApiError {
  return unavailable('the server is stopping', RETRY_MS)
}
