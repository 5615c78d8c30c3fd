import { serveProcessRequests } from '../../runtime/workers/serve-process-requests.ts'
import type { DbSource } from '../../storage/db.ts'
import { openSnapshot } from '../../storage/snapshot.ts'
import { buildFeed, type FeedJob } from './build-feed.ts'

/** The process that feeds are made in, one after the other, each from the database as it is when its turn comes. */

export interface BuildRequest {
  readonly source: DbSource
  readonly job: FeedJob
}

serveProcessRequests(async ({ source, job }: BuildRequest): Promise<boolean> => {
  const snapshot = await openSnapshot(source)
  try {
    return await buildFeed(snapshot, job)
  } finally {
    await snapshot.close()
  }
})
