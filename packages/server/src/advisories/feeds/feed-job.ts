import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import type { JobKind, JobLease } from '../../storage/jobs/job-leases.ts'
import { createJobRun, interruptJobRuns, type JobRun } from '../../storage/jobs/job-runs.ts'
import type { AdvisoryFeedRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'

/** Feeds as jobs: the key is the uid of the feed. */

export const feedJob: JobKind = {
  name: 'advisory-feed',
  schedule: { table: 'advisory_feeds', column: 'uid', enabled: 'paused = 0' },
}

/** Columns of a feed that no run reads. Writing them interrupts the run that has the feed. */
export const NO_LEASE = { runner: '', lease_ms: 0 } as const

/** Records the start of a run and returns the feed. Throws JobInterrupted if the lease is lost. */
export async function startFeedRun(
  store: Pick<Store, 'db' | 'clock' | 'uids'>,
  lease: JobLease,
): Promise<{ readonly feed: AdvisoryFeedRow; readonly run: JobRun }> {
  const now = store.clock()
  return inTransaction(store.db, async (tx) => {
    await lease.renew(tx)
    const feed = await tx
      .updateTable('advisory_feeds')
      .set({ begun_ms: now })
      .where('root', '=', rootOf(lease.key))
      .where('uid', '=', lease.key)
      .returningAll()
      .executeTakeFirstOrThrow()
    await interruptJobRuns(tx, feedJob, lease, now)
    const run = createJobRun(store, feedJob, lease, { requestedBy: feed.requested_by, startedMs: now })
    // The others are recorded when the feed has something new.
    if (feed.requested_by !== '') await run.start(tx)
    return { feed, run }
  })
}

export async function updateFeed(
  tx: Tx,
  uid: string,
  changed: Partial<Omit<AdvisoryFeedRow, 'root' | 'uid' | 'runner' | 'lease_ms' | 'due_ms'>>,
): Promise<void> {
  if (Object.keys(changed).length === 0) return
  await tx
    .updateTable('advisory_feeds')
    .set(changed)
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .execute()
}

/** Returns when each feed that is not paused was last read successfully, in ms; 0 for never. */
export async function readLastSuccesses({ kysely }: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await kysely
    .selectFrom('advisory_feeds')
    .select(['uid', 'succeeded_ms'])
    .where('paused', '=', 0)
    .orderBy('uid')
    .limit(limits.feedsMeasuredMax)
    .execute()
  return new Map(rows.map(({ uid, succeeded_ms }) => [uid, succeeded_ms]))
}
