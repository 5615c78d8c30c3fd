import { sql } from 'kysely'
import { limits } from '../../config/limits.ts'
import type { Db, Reader, Tx } from '../db.ts'
import type { JobResultRow } from '../schema/tables.ts'
import { isOfKind, type JobKind, nodeOfRunner, tableOf } from './job-leases.ts'

/** What the operator sees of background jobs: what runs, what waits, and how the last run of each kind ended. */

export interface FinishedRun {
  readonly kind: JobKind
  readonly key: string
  readonly node: string
  readonly startedMs: number
  readonly endedMs: number
  /** Undefined: it succeeded. */
  readonly error: unknown
}

/** Records a finished run as the last one of its kind. */
export async function recordJobResult(tx: Tx, run: FinishedRun): Promise<void> {
  const { kind, key, node, startedMs, endedMs, error } = run
  const isFailure = error !== undefined
  const result = {
    key,
    node,
    succeeded: isFailure ? 0 : 1,
    started_ms: startedMs,
    ended_ms: endedMs,
    ...(isFailure ? { error: describeError(error), failed_ms: endedMs } : {}),
  }
  await tx
    .insertInto('job_results')
    .values({ kind: kind.name, error: '', failed_ms: 0, ...result })
    .onConflict((conflict) => conflict.column('kind').doUpdateSet(result))
    .execute()
}

/** Returns the message of an error, shortened. */
export function describeError(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.slice(0, limits.operatorErrorCharsMax)
}

export interface RunningJob {
  readonly key: string
  /** Id of the node; '' for one of an earlier release. */
  readonly node: string
  readonly leaseMs: number
}

export interface JobOverview {
  readonly running: readonly RunningJob[]
  /** Jobs that are due and that no process has. */
  readonly waiting: number
  /** Undefined if none is scheduled. */
  readonly nextDueMs: number | undefined
  readonly result: JobResultRow | undefined
}

/** Reads the state of all jobs of a kind. */
export async function readJobOverview(
  { kysely }: Pick<Db, 'kysely'>,
  kind: JobKind,
  now: number,
): Promise<JobOverview> {
  const key = kind.schedule === undefined ? sql`key` : kind.schedule.column === 'uid' ? sql`uid` : sql`''`
  const { rows: running } = await sql<{ key: string; runner: string; lease_ms: number }>`
    select ${key} as key, runner, lease_ms from ${tableOf(kind)}
    where ${isOfKind(kind)} and runner <> '' and lease_ms > ${now} order by lease_ms limit ${limits.runningJobsShownMax}`.execute(
    kysely,
  )
  const { rows: due } = await sql<{ next: number | null; waiting: number }>`
    select min(due_ms) as next, coalesce(sum(case when due_ms <= ${now} then 1 else 0 end), 0) as waiting
    from ${tableOf(kind)} where ${isOfKind(kind)} and lease_ms <= ${now} and due_ms < ${Number.MAX_SAFE_INTEGER}`.execute(
    kysely,
  )
  const next = due[0]?.next ?? undefined
  return {
    running: running.map(({ key, runner, lease_ms }) => ({
      key,
      node: nodeOfRunner(runner),
      leaseMs: Number(lease_ms),
    })),
    waiting: Number(due[0]?.waiting ?? 0),
    nextDueMs: next === undefined ? undefined : Number(next),
    result: await readJobResult(kysely, kind),
  }
}

function readJobResult(db: Reader, { name }: JobKind): Promise<JobResultRow | undefined> {
  return db.selectFrom('job_results').selectAll().where('kind', '=', name).executeTakeFirst()
}
