import { randomBytes } from 'node:crypto'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { type Db, inTransaction, type Reader } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { AdvisoryFeedRow } from '../../storage/schema/tables.ts'

/**
 * Leases of feeds. A run leases a feed and renews the lease while it works. If its node dies, the lease expires and another node
 * can lease the feed.
 */

/** A feed with the lease of this run. */
export type LeasedFeed = AdvisoryFeedRow & { readonly runner: string }

/** Returns the uids of feeds that are due and not leased. `except`: organizations to leave out. */
export async function readDueFeeds(
  { kysely }: Db,
  now: number,
  { max, except }: { readonly max: number; readonly except: readonly string[] },
): Promise<string[]> {
  const rows = await kysely
    .selectFrom('advisory_feeds')
    .select('uid')
    .where('paused', '=', 0)
    .where('due_ms', '<=', now)
    .where('lease_ms', '<=', now)
    .$if(except.length > 0, (query) => query.where('root', 'not in', [...except]))
    .orderBy('due_ms')
    .limit(max)
    .execute()
  return rows.map(({ uid }) => uid)
}

/** Leases a feed for a new run; undefined if another run was faster. */
export async function leaseFeed(
  db: Db,
  uid: string,
  now: number,
  leaseMs: number,
): Promise<LeasedFeed | undefined> {
  const runner = randomBytes(8).toString('hex')
  return inTransaction(db, (tx) =>
    tx
      .updateTable('advisory_feeds')
      .set({ runner, lease_ms: now + leaseMs, begun_ms: now })
      .where('root', '=', rootOf(uid))
      .where('uid', '=', uid)
      .where('paused', '=', 0)
      .where('due_ms', '<=', now)
      .where('lease_ms', '<=', now)
      .returningAll()
      .executeTakeFirst(),
  )
}

/** Whether the run still has its lease: the feed was not deleted or paused, and no other run has leased it. */
export async function holdsLease(db: Reader, { root, uid, runner }: LeasedFeed): Promise<boolean> {
  const row = await db
    .selectFrom('advisory_feeds')
    .select('runner')
    .where('root', '=', root)
    .where('uid', '=', uid)
    .executeTakeFirst()
  return row?.runner === runner
}

/** Renews the lease and stores the progress. Returns false if the lease is lost. */
export async function renewLease(
  db: Db,
  { root, uid, runner }: LeasedFeed,
  changed: Pick<AdvisoryFeedRow, 'lease_ms'> & Partial<Pick<AdvisoryFeedRow, 'counts'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await inTransaction(db, (tx) =>
    tx
      .updateTable('advisory_feeds')
      .set(changed)
      .where('root', '=', root)
      .where('uid', '=', uid)
      .where('runner', '=', runner)
      .executeTakeFirst(),
  )
  return numUpdatedRows > 0n
}

/** Returns when each active feed last succeeded, in ms; 0 for never. */
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

/** Column values of a feed without a lease. */
export const NO_LEASE = { runner: '', lease_ms: 0 } as const

type RunOutcome = Partial<Omit<AdvisoryFeedRow, 'root' | 'uid' | 'runner' | 'lease_ms'>>

/** Ends the run. If another run was requested meanwhile, the feed is due and that run repeats this one's work. */
export async function releaseFeed(
  db: Db,
  { uid, runner, due_ms }: LeasedFeed,
  outcome: RunOutcome,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const row = await lockResource(db, tx, 'advisory_feeds', uid, 'update')
    if (row?.runner !== runner) return
    const { due_ms: dueMs, etag, last_modified, ...rest } = outcome
    const isRequested = row.due_ms !== due_ms
    const version = {
      ...(dueMs !== undefined && { due_ms: dueMs }),
      ...(etag !== undefined && { etag }),
      ...(last_modified !== undefined && { last_modified }),
    }
    await tx
      .updateTable('advisory_feeds')
      .set({ ...rest, ...(isRequested ? {} : version), ...NO_LEASE })
      .where('root', '=', rootOf(uid))
      .where('uid', '=', uid)
      .execute()
  })
}
