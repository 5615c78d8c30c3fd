import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { runInBackground } from '../../pipeline/request/request-context.ts'
import { startPeriodicTask } from '../../runtime/periodic-task.ts'
import { type Db, inTransaction, type Reader, type Tx } from '../db.ts'
import { readTableNames } from '../schema/catalog.ts'
import type { JobRow, Tables } from '../schema/tables.ts'

/**
 * Leases of background work: of all nodes and commands, one runs a job. It leases the job for a while and renews the lease until it is done;
 * when it dies, the lease expires and another one takes the job over. Every job is a row of `jobs` while it runs (ADR 26).
 */

export interface JobKind {
  readonly name: string
  /** Where jobs of this kind have their due time; the table `jobs` without it. */
  readonly schedule?: JobSchedule
}

/**
 * A table with the columns `due_ms`, `runner` and `lease_ms`. Leases are written to it, too, for nodes of the previous release, which know
 * these columns only.
 */
export interface JobSchedule {
  readonly table: keyof Tables
  /** `uid`: a row for each resource, whose uid is the key of its job; `name`: one row, with the name of the kind. */
  readonly column: 'uid' | 'name'
  /** SQL condition of the rows that can be due. */
  readonly enabled?: string
}

export type JobState = Pick<JobRow, 'runner' | 'lease_ms' | 'due_ms' | 'succeeded_ms' | 'position'>

export interface JobOutcome {
  /** When the job is due again; without it, it is due as before. Ignored if the job was rescheduled while it ran. */
  readonly dueMs?: number
  /** The end of this run, if it succeeded. Only for kinds without a row for each resource. */
  readonly succeededMs?: number
  /** Where the next run continues. Only for kinds without a row for each resource. */
  readonly position?: string
  /** Why a run that returned did not do its work; it counts as failed for the operator. */
  readonly failure?: string
  /** Further writes of the transaction that releases the job. */
  readonly write?: (tx: Tx, released: { readonly isRescheduled: boolean }) => Promise<void>
  /** Called after the commit of that transaction, also if the lease was lost. */
  readonly afterRelease?: () => void
}

export interface JobLease {
  /** Empty for kinds with a single job. */
  readonly key: string
  /** Identifies this run. */
  readonly runner: string
  readonly dueMs: number
  /** Where the previous run ended; empty at the start. */
  readonly position: string
  /** Aborted when the lease is lost, and when the scheduler stops. */
  readonly signal: AbortSignal
  /** Throws JobInterrupted unless this run still has the job. */
  requireHeld(reader?: Reader): Promise<void>
  /** Renews the lease in a transaction, which then excludes that another run takes the job over. Throws JobInterrupted if it is lost. */
  renew(tx: Tx): Promise<void>
  /** Makes each renewal call `write`, in its transaction. */
  onRenewal(write: (tx: Tx) => Promise<void>): void
  savePosition(position: string): Promise<void>
  /** Ends the run. Writes nothing if the lease is lost. */
  release(outcome?: JobOutcome): Promise<void>
}

export interface JobLeaseOptions {
  readonly db: Db
  readonly clock: () => number
  readonly leaseMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly onError: (error: unknown) => void
}

/** The run must end: the scheduler stops, the job was changed, or another run has it. */
export class JobInterrupted extends Error {
  override readonly name = 'JobInterrupted'
}

/** Expiry of the lease: the process that had it did not renew it in time. */
export class JobLeaseLost extends JobInterrupted {
  constructor(kind: JobKind) {
    super(`another process continues the job ${kind.name}, or it was changed`)
  }
}

export async function readJob(
  { kysely }: Pick<Db, 'kysely'>,
  kind: JobKind,
  key = '',
): Promise<JobState | undefined> {
  const { rows } = await sql<JobState>`select * from ${tableOf(kind)} where ${isJob(kind, key)}`.execute(
    kysely,
  )
  return rows[0]
}

/** Makes a job due at a time, unless it is due earlier. For kinds with a single job. */
export async function scheduleJob(db: Db, kind: JobKind, dueMs: number): Promise<void> {
  const dueLater = sql`where ${tableOf(kind)}.due_ms > ${dueMs}`
  const values = sql`'', 0, ${dueMs}, 0, ''`
  await inTransaction(db, (tx) =>
    (kind.schedule === undefined
      ? sql`insert into jobs (kind, key, runner, lease_ms, due_ms, succeeded_ms, position) values (${kind.name}, '', ${values})
          on conflict (kind, key) do update set due_ms = excluded.due_ms ${dueLater}`
      : sql`insert into ${tableOf(kind)} (name, runner, lease_ms, due_ms, succeeded_ms, position) values (${kind.name}, ${values})
          on conflict (name) do update set due_ms = excluded.due_ms ${dueLater}`
    ).execute(tx),
  )
}

/** Keys of jobs that are due and that no run has, the earliest first. `exceptRoots`: organizations to leave out. */
export async function findDueJobs(
  { kysely }: Db,
  kind: JobKind,
  now: number,
  { max, exceptRoots = [] }: { readonly max: number; readonly exceptRoots?: readonly string[] },
): Promise<string[]> {
  const column = kind.schedule === undefined ? sql`key` : kind.schedule.column === 'uid' ? sql`uid` : sql`''`
  const except = exceptRoots.length === 0 ? sql`` : sql`and root not in (${sql.join(exceptRoots)})`
  const { rows } = await sql<{ job: string }>`select ${column} as job from ${tableOf(kind)}
    where ${isOfKind(kind)} and due_ms <= ${now} and lease_ms <= ${now} ${except} order by due_ms limit ${max}`.execute(
    kysely,
  )
  return rows.map(({ job }) => job)
}

const RUNNER_SEPARATOR = '-'

/** Returns the node of a run; '' for one of an earlier release. */
export function nodeOfRunner(runner: string): string {
  const end = runner.indexOf(RUNNER_SEPARATOR)
  return end < 0 ? '' : runner.slice(0, end)
}

/** Leases a job; undefined while another run has it, or unless it is due by `dueBy`. */
export async function acquireJob(
  { db, clock, leaseMs = limits.registryRunLeaseMs, signal, onError }: JobLeaseOptions,
  kind: JobKind,
  { key = '', dueBy = Number.MAX_SAFE_INTEGER }: { readonly key?: string; readonly dueBy?: number } = {},
): Promise<JobLease | undefined> {
  if (kind.schedule?.column !== 'uid' && (await readJob(db, kind, key)) === undefined)
    await scheduleJob(db, kind, Number.MAX_SAFE_INTEGER)
  const runner = `${db.node}${RUNNER_SEPARATOR}${randomBytes(8).toString('hex')}`
  const now = clock()
  const mirror = await needsMirror(db, kind)
  const row = await inTransaction(db, async (tx) => {
    const { rows } =
      await sql<JobState>`update ${tableOf(kind)} set runner = ${runner}, lease_ms = ${now + leaseMs}
      where ${isJob(kind, key)} and ${isOfKind(kind)} and due_ms <= ${dueBy} and lease_ms <= ${now} returning *`.execute(
        tx,
      )
    const [leased] = rows
    if (leased !== undefined && mirror) {
      const lease = { runner, lease_ms: now + leaseMs, due_ms: Number(leased.due_ms) }
      await tx
        .insertInto('jobs')
        .values({ kind: kind.name, key, succeeded_ms: 0, position: '', ...lease })
        .onConflict((conflict) => conflict.columns(['kind', 'key']).doUpdateSet(lease))
        .execute()
    }
    return leased
  })
  if (row === undefined) return undefined
  return leaseOf({ db, clock, leaseMs, signal, onError, kind, key, runner, row, mirror })
}

interface LeaseContext extends JobLeaseOptions {
  readonly leaseMs: number
  readonly kind: JobKind
  readonly key: string
  readonly runner: string
  readonly row: JobState
  readonly mirror: boolean
}

function leaseOf({
  db,
  clock,
  leaseMs,
  signal,
  onError,
  kind,
  key,
  runner,
  row,
  mirror,
}: LeaseContext): JobLease {
  const lost = new AbortController()
  const isOwn = sql`${isJob(kind, key)} and runner = ${runner}`
  let writeAtRenewal: ((tx: Tx) => Promise<void>) | undefined

  const fail = () => {
    const error = new JobLeaseLost(kind)
    lost.abort(error)
    return error
  }
  /** Whether the lease is still this run's; then the row is locked. */
  const renewed = async (tx: Tx): Promise<boolean> => {
    const until = clock() + leaseMs
    const { numAffectedRows } =
      await sql`update ${tableOf(kind)} set lease_ms = ${until} where ${isOwn}`.execute(tx)
    if ((numAffectedRows ?? 0n) === 0n) return false
    if (mirror)
      await sql`update jobs set lease_ms = ${until} where kind = ${kind.name} and key = ${key} and runner = ${runner}`.execute(
        tx,
      )
    return true
  }
  const renewal = startPeriodicTask(
    leaseMs / 3,
    () =>
      inTransaction(db, async (tx) => {
        if (!(await renewed(tx))) fail()
        else await writeAtRenewal?.(tx)
      }),
    onError,
  )
  const release = async (tx: Tx, { dueMs, succeededMs, position, write }: JobOutcome): Promise<void> => {
    const { rows } =
      await sql<JobState>`select * from ${tableOf(kind)} where ${isOwn} ${sql.raw(db.rules.lockForUpdate)}`.execute(
        tx,
      )
    const [known] = rows
    if (known === undefined) return
    const isRescheduled = Number(known.due_ms) !== Number(row.due_ms)
    const changes = [
      sql`runner = '', lease_ms = 0`,
      ...(dueMs === undefined || isRescheduled ? [] : [sql`due_ms = ${dueMs}`]),
      ...(succeededMs === undefined ? [] : [sql`succeeded_ms = ${succeededMs}`]),
      ...(position === undefined ? [] : [sql`position = ${position}`]),
    ]
    await sql`update ${tableOf(kind)} set ${sql.join(changes)} where ${isOwn}`.execute(tx)
    await write?.(tx, { isRescheduled })
  }

  return {
    key,
    runner,
    dueMs: Number(row.due_ms),
    position: row.position,
    signal: AbortSignal.any([lost.signal, ...(signal === undefined ? [] : [signal])]),
    async requireHeld(reader = db.kysely) {
      signal?.throwIfAborted()
      const { rows } = await sql`select 1 from ${tableOf(kind)} where ${isOwn}`.execute(reader)
      if (rows.length === 0) throw fail()
    },
    async renew(tx) {
      signal?.throwIfAborted()
      if (!(await renewed(tx))) throw fail()
    },
    onRenewal(write) {
      writeAtRenewal = write
    },
    async savePosition(position) {
      const { numAffectedRows } = await inTransaction(db, (tx) =>
        sql`update ${tableOf(kind)} set position = ${position} where ${isOwn}`.execute(tx),
      )
      if ((numAffectedRows ?? 0n) === 0n) fail()
    },
    async release(outcome = {}) {
      await renewal.stop()
      await inTransaction(db, async (tx) => {
        await release(tx, outcome)
        if (mirror)
          await tx
            .deleteFrom('jobs')
            .where('kind', '=', kind.name)
            .where('key', '=', key)
            .where('runner', '=', runner)
            .execute()
      })
      outcome.afterRelease?.()
    },
  }
}

/** Does the work of a job and releases it, also when the work fails. */
export async function workAndRelease<T>(
  lease: JobLease,
  work: () => Promise<T>,
  outcomeOf: (result: T) => JobOutcome,
): Promise<T> {
  let outcome: JobOutcome = {}
  try {
    const result = await work()
    outcome = outcomeOf(result)
    return result
  } finally {
    await lease.release(outcome)
  }
}

/** Releases a job when work before that of the job fails, also because the request that starts the job was aborted. */
export async function releaseOnFailure<T>(lease: JobLease | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await runInBackground(async () => lease?.release())
    throw error
  }
}

/** The table with the due times of a kind. */
export function tableOf({ schedule }: JobKind) {
  return sql.table(schedule?.table ?? 'jobs')
}

/** The rows of a table that are jobs of the kind. */
export function isOfKind({ name, schedule }: JobKind) {
  if (schedule === undefined) return sql`kind = ${name}`
  return schedule.column === 'name' ? sql`name = ${name}` : sql.raw(schedule.enabled ?? '1 = 1')
}

function isJob({ name, schedule }: JobKind, key: string) {
  if (schedule === undefined) return sql`kind = ${name} and key = ${key}`
  return schedule.column === 'name' ? sql`name = ${name}` : sql`root = ${rootOf(key)} and uid = ${key}`
}

const databasesWithJobs = new WeakSet<Db>()

/** Whether leases are written to `jobs`, too. `berth admin backup` also runs on databases that are not migrated yet, which lack the table. */
async function needsMirror(db: Db, { schedule }: JobKind): Promise<boolean> {
  if (schedule === undefined) return false
  if (!databasesWithJobs.has(db) && (await readTableNames(db)).includes('jobs')) databasesWithJobs.add(db)
  return databasesWithJobs.has(db)
}
