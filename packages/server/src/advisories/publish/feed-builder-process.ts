import { serveProcessRequests } from '../../runtime/workers/serve-process-requests.ts'
import type { DbSource } from '../../storage/db.ts'
import { openSnapshot } from '../../storage/snapshot.ts'
import { buildFeed, type FeedJob } from './build-feed.ts'

/** The process that builds published feeds, one after the other, each from the current state of the database. */

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
