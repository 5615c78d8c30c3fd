import { rootOf, type Uid } from '../../api/uid.ts'
import { DAY_MS, limits } from '../../config/limits.ts'
import { type Db, inTransaction, type Tx } from '../db.ts'
import type { Store } from '../store.ts'
import type { JobKind, JobLease } from './job-leases.ts'
import { describeError } from './job-results.ts'

/**
 * The history of jobs that belong to a resource (ADR 76). A run has a row from its first change on: a run of the schedule that finds nothing
 * to do writes none.
 */

export const jobRunStates = ['running', 'succeeded', 'failed', 'interrupted'] as const
export type JobRunState = (typeof jobRunStates)[number]

/** What a run counted, by name. */
export type JobRunCounts = Readonly<Record<string, number>>

/** The actor of runs that the schedule started. */
export const SCHEDULE = 'system'

export interface JobRunEnd {
  readonly state: Exclude<JobRunState, 'running'>
  readonly counts: JobRunCounts
  /** Why it failed; '' otherwise. */
  readonly error?: string
}

export interface JobRun {
  /** Records the start, unless it is recorded. */
  start(tx: Tx): Promise<void>
  /** Records the end; nothing for a run that the schedule started, that succeeded or was interrupted, and that changed nothing. */
  end(tx: Tx, end: JobRunEnd): Promise<void>
}

/** `requestedBy`: uid of the identity that requested the run; '' for the schedule. */
export function createJobRun(
  { clock, uids }: Pick<Store, 'clock' | 'uids'>,
  { name: kind }: JobKind,
  { key, runner }: Pick<JobLease, 'key' | 'runner'>,
  { requestedBy, startedMs }: { readonly requestedBy: string; readonly startedMs: number },
): JobRun {
  const root = rootOf(key)
  const uid = uids.child(key as Uid)
  const row = {
    ...{ root, uid, parent: key, kind, runner, started_ms: startedMs },
    actor: requestedBy === '' ? SCHEDULE : requestedBy,
  }
  // Whether a transaction recorded the start: it may have been rolled back.
  let isStarted = false
  return {
    async start(tx) {
      isStarted = true
      await tx
        .insertInto('job_runs')
        .values({ ...row, state: 'running', ended_ms: 0, counts: '{}', error: '' })
        .onConflict((conflict) => conflict.columns(['root', 'uid']).doNothing())
        .execute()
    },
    async end(tx, { state, counts, error = '' }) {
      if (!isStarted && state !== 'failed') return
      const ended = { state, ended_ms: clock(), counts: JSON.stringify(counts), error: describeError(error) }
      // The resource of an interrupted run may be deleted.
      if (state === 'interrupted')
        await tx
          .updateTable('job_runs')
          .set(ended)
          .where('root', '=', root)
          .where('uid', '=', uid)
          .where('state', '=', 'running')
          .execute()
      else
        await tx
          .insertInto('job_runs')
          .values({ ...row, ...ended })
          .onConflict((conflict) => conflict.columns(['root', 'uid']).doUpdateSet(ended))
          .execute()
    },
  }
}

/** Marks the run of a resource whose process ended without recording it. The caller has the lease of the job. */
export async function interruptJobRuns(
  tx: Tx,
  { name }: JobKind,
  { key }: Pick<JobLease, 'key'>,
  now: number,
): Promise<void> {
  await tx
    .updateTable('job_runs')
    .set({ state: 'interrupted', ended_ms: now })
    .where('root', '=', rootOf(key))
    .where('parent', '=', key)
    .where('kind', '=', name)
    .where('state', '=', 'running')
    .execute()
}

export async function deleteJobRuns(tx: Tx, resource: string): Promise<void> {
  await tx
    .deleteFrom('job_runs')
    .where('root', '=', rootOf(resource))
    .where('parent', '=', resource)
    .execute()
}

/** Marks runs as interrupted that no process has: their resource was paused or changed before another process took them over. */
export async function interruptLostRuns(db: Db, now: number): Promise<void> {
  // A run has its lease before it has a row, so leases are read after rows.
  const running = await db.kysely
    .selectFrom('job_runs')
    .select(['root', 'uid', 'runner'])
    .where('state', '=', 'running')
    .execute()
  const leases = await db.kysely
    .selectFrom('jobs')
    .select('runner')
    .where('runner', '<>', '')
    .where('lease_ms', '>', now)
    .execute()
  const leased = new Set(leases.map(({ runner }) => runner))
  const lost = running.filter(({ runner }) => !leased.has(runner)).slice(0, limits.jobRunsPerResourceMax)
  for (const { root, uid } of lost)
    await inTransaction(db, (tx) =>
      tx
        .updateTable('job_runs')
        .set({ state: 'interrupted', ended_ms: now })
        .where('root', '=', root)
        .where('uid', '=', uid)
        .where('state', '=', 'running')
        .execute(),
    )
}

/** Deletes runs of an organization that are too old, and of each resource all but the latest; returns how many it deleted. */
export async function deleteOldJobRuns(db: Db, root: string, now: number, max: number): Promise<number> {
  const oldest = await db.kysely
    .selectFrom('job_runs')
    .select('uid')
    .where('root', '=', root)
    .where('started_ms', '<', now - limits.jobRunDays * DAY_MS)
    .limit(max)
    .execute()
  const uids = oldest.map(({ uid }) => uid)
  if (uids.length < max) {
    const full = await db.kysely
      .selectFrom('job_runs')
      .select('parent')
      .where('root', '=', root)
      .groupBy('parent')
      .having(({ fn }) => fn.countAll(), '>', limits.jobRunsPerResourceMax)
      .limit(1)
      .execute()
    for (const { parent } of full) {
      const rest = await db.kysely
        .selectFrom('job_runs')
        .select('uid')
        .where('root', '=', root)
        .where('parent', '=', parent)
        .orderBy('started_ms', 'desc')
        .orderBy('uid')
        .offset(limits.jobRunsPerResourceMax)
        .limit(max)
        .execute()
      uids.push(...rest.map(({ uid }) => uid))
    }
  }
  const unique = [...new Set(uids)]
  if (unique.length > 0)
    await inTransaction(db, (tx) =>
      tx.deleteFrom('job_runs').where('root', '=', root).where('uid', 'in', unique).execute(),
    )
  return unique.length
}
