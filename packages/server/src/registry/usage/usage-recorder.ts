import { limits } from '../../config/limits.ts'
import type { Tracer } from '../../runtime/tracer.ts'
import { existingKeys } from '../../storage/bulk-rows.ts'
import { type Db, inTransaction } from '../../storage/db.ts'
import type { JobLease } from '../../storage/jobs/job-leases.ts'
import { type JobScheduler, startJobScheduler } from '../../storage/jobs/job-scheduler.ts'
import { iterateRoots } from '../../storage/organizations.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import { usageJob } from '../jobs.ts'
import { dayOf } from './days.ts'

export interface UsageRecorderOptions {
  readonly db: Db
  readonly clock: () => number
  readonly intervalMs?: number | undefined
  readonly tracer?: Tracer | undefined
  readonly onRun: (outcome: 'succeeded' | 'failed', error?: unknown) => void
  /** Receives failures of the scheduler itself, mostly of the database. */
  readonly onError: (error: unknown) => void
}

/** Organizations of one transaction. */
const BATCH = 50

/**
 * Records how much each organization stores, and deletes days that are too old (ADR 44). It runs every hour, and a day keeps what the last
 * run wrote: a node that stops before midnight loses an hour and not the day.
 */
export function startUsageRecorder(options: UsageRecorderOptions): JobScheduler {
  const { db, clock, tracer, onRun, onError } = options
  const { intervalMs = limits.usageRecordIntervalMs } = options
  return startJobScheduler(
    { db, clock, tracer, onError },
    {
      kind: usageJob,
      span: 'job usage',
      pollMs: Math.min(intervalMs, limits.gcPollMs),
      intervalMs,
      async run(lease) {
        await recordUsage({ db, clock }, lease)
        return { succeededMs: clock(), afterRelease: () => onRun('succeeded') }
      },
      onFailure(error, _, { isInterrupted }) {
        if (isInterrupted) return {}
        return { dueMs: clock() + intervalMs, afterRelease: () => onRun('failed', error) }
      },
    },
  )
}

async function recordUsage(
  { db, clock }: Pick<UsageRecorderOptions, 'db' | 'clock'>,
  { signal }: Pick<JobLease, 'signal'>,
): Promise<void> {
  const today = dayOf(clock())
  await forEachBatch(iterateRoots(db, 'groups'), async (roots) => {
    signal.throwIfAborted()
    await recordDay(db, roots, dayOf(clock()))
  })
  // By the organizations in the tables: those that were deleted while transfers were written have rows, too.
  for (const table of ['usage_days', 'repo_usage_days'] as const)
    await forEachBatch(iterateRoots(db, table), async (roots) => {
      signal.throwIfAborted()
      await inTransaction(db, (tx) =>
        tx
          .deleteFrom(table)
          .where('root', 'in', roots)
          .where('day', '<=', today - limits.usageHistoryDays)
          .execute(),
      )
    })
}

async function forEachBatch(
  roots: AsyncIterable<string>,
  work: (batch: readonly string[]) => Promise<void>,
): Promise<void> {
  let batch: string[] = []
  for await (const root of roots) {
    batch.push(root)
    if (batch.length < BATCH) continue
    await work(batch)
    batch = []
  }
  if (batch.length > 0) await work(batch)
}

const counted = (collection: string) =>
  `(select coalesce(sum(n), 0) from counts where counts.root = g.root and collection = '${collection}')`
const used = (column: string) =>
  `(select coalesce(sum(${column}), 0) from registry_usage as u where u.root = g.root)`
const levels = ['stored_bytes', 'manifests', 'tags', 'repos'] as const

/** Writes the levels of organizations on a day. */
function recordDay(db: Db, roots: readonly string[], day: number): Promise<void> {
  return inTransaction(db, async (tx) => {
    // The lock prevents that one is deleted meanwhile; one that is locked has its levels written by the next run.
    const keys = roots.toSorted().map((root) => ({ root, uid: root }))
    const locked = (await existingKeys(db, tx, 'groups', keys, { lock: true })).map(({ root }) => root)
    if (locked.length === 0) return
    const sql = sqlText(db.engine)
    const changed = levels.map((level) => `${level} = excluded.${level}`).join(', ')
    // A group whose uid is its root is an organization. In the order of keys, as counts of transfers are written.
    const text = `insert into usage_days (root, day, ${levels.join(', ')}, pulls, pushes)
      select g.root, ${sql.bind(day)}, ${used('bytes')}, ${used('manifests')}, ${counted('tags')}, ${counted('repos')}, 0, 0
      from groups as g where g.root in (${sql.bindAll(locked)}) and g.uid = g.root order by g.root
      on conflict (root, day) do update set ${changed}`
    await runInTransaction(tx, text, sql)
  })
}
