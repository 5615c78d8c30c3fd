import type { DbSource } from '../../storage/db.ts'
import { openSnapshot } from '../../storage/snapshot.ts'
import { answerRequests } from '../../worker/answer-requests.ts'
import { type FeedJob, makeFeed } from './make-feed.ts'

/** The process that feeds are made in, one after the other, each from the database as it is when its turn comes. */

export interface MakingRequest {
  readonly source: DbSource
  readonly job: FeedJob
}

answerRequests(async ({ source, job }: MakingRequest): Promise<boolean> => {
  const snapshot = await openSnapshot(source)
  try {
    return await makeFeed(snapshot, job)
  } finally {
    await snapshot.close()
  }
})
