import { parentPort } from 'node:worker_threads'
import type { DbSource } from '../../storage/db.ts'
import { openSnapshot } from '../../storage/snapshot.ts'
import { type FeedJob, makeFeed } from './make-feed.ts'

/** The thread that feeds are made in, one after the other, each from the database as it is when its turn comes. */

export interface MakingRequest {
  readonly id: number
  readonly source: DbSource
  readonly job: FeedJob
}

export type MakingReply =
  | { readonly id: number; readonly made: boolean }
  | { readonly id: number; readonly error: string }

const port = parentPort
if (port === null) throw new Error('feed-thread.ts runs in a worker thread only')

port.on('message', ({ id, source, job }: MakingRequest) => {
  make(source, job).then(
    (made) => port.postMessage({ id, made } satisfies MakingReply),
    (error: unknown) =>
      port.postMessage({
        id,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
  )
})

async function make(source: DbSource, job: FeedJob): Promise<boolean> {
  const snapshot = await openSnapshot(source)
  try {
    return await makeFeed(snapshot, job)
  } finally {
    await snapshot.close()
  }
}
