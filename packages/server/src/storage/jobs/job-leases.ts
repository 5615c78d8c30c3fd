import { randomBytes } from 'node:crypto'
import { limits } from '../../config/limits.ts'
import { startPeriodicTask } from '../../runtime/periodic-task.ts'
import { type Db, inTransaction } from '../db.ts'
import type { RegistryRunRow } from '../schema/tables.ts'

/**
 * Which process does long work on the registry. It takes the work for a while and says again and again that it lives; when it dies, the
 * while ends and another one may begin.
 */

export type JobName = 'collection' | 'scrub' | 'backup'

export interface JobLease {
  readonly name: JobName
  readonly runner: string
  /** Where the run before has ended, '' at the beginning. */
  readonly position: string
  /** Aborted once the work is no longer this run's. */
  readonly signal: AbortSignal
  /** Remembers how far it is. */
  savePosition(position: string): Promise<void>
  /** Ends the run. */
  release(outcome?: Partial<Pick<RegistryRunRow, 'due_ms' | 'succeeded_ms' | 'position'>>): Promise<void>
}

export interface JobLeaseOptions {
  readonly db: Db
  readonly clock: () => number
  readonly leaseMs?: number | undefined
  readonly onError: (error: unknown) => void
}

export async function readJob({ kysely }: Db, name: JobName): Promise<RegistryRunRow | undefined> {
  return await kysely.selectFrom('registry_runs').selectAll().where('name', '=', name).executeTakeFirst()
}

/** Some work is due by a time at the latest, whatever was planned before. */
export async function scheduleJob(db: Db, name: JobName, dueMs: number): Promise<void> {
  const row: RegistryRunRow = {
    name,
    runner: '',
    lease_ms: 0,
    due_ms: dueMs,
    succeeded_ms: 0,
    position: '',
  }
  await inTransaction(db, (tx) =>
    tx
      .insertInto('registry_runs')
      .values(row)
      .onConflict((conflict) =>
        conflict.column('name').doUpdateSet({ due_ms: dueMs }).where('registry_runs.due_ms', '>', dueMs),
      )
      .execute(),
  )
}

/** Takes the work for a new run; undefined while another one has it, or before it is due. */
export async function acquireJob(
  { db, clock, leaseMs = limits.registryRunLeaseMs, onError }: JobLeaseOptions,
  name: JobName,
  { dueBy = Number.MAX_SAFE_INTEGER }: { readonly dueBy?: number } = {},
): Promise<JobLease | undefined> {
  const runner = randomBytes(8).toString('hex')
  const known = await readJob(db, name)
  const now = clock()
  if (known === undefined) await scheduleJob(db, name, Number.MAX_SAFE_INTEGER)
  else if (Number(known.lease_ms) > now || Number(known.due_ms) > dueBy) return undefined
  const row = await inTransaction(db, (tx) =>
    tx
      .updateTable('registry_runs')
      .set({ runner, lease_ms: now + leaseMs })
      .where('name', '=', name)
      .where('due_ms', '<=', dueBy)
      .where('lease_ms', '<=', now)
      .returningAll()
      .executeTakeFirst(),
  )
  if (row === undefined) return undefined
  const end = new AbortController()
  const change = async (changed: Partial<RegistryRunRow>) => {
    const { numUpdatedRows } = await inTransaction(db, (tx) =>
      tx
        .updateTable('registry_runs')
        .set(changed)
        .where('name', '=', name)
        .where('runner', '=', runner)
        .executeTakeFirst(),
    )
    if (numUpdatedRows === 0n) end.abort(new JobLeaseLost(name))
  }
  const renewal = startPeriodicTask(leaseMs / 3, () => change({ lease_ms: clock() + leaseMs }), onError)
  return {
    name,
    runner,
    position: row.position,
    signal: end.signal,
    savePosition: (position) => change({ position }),
    async release(outcome = {}) {
      await renewal.stop()
      await change({ ...outcome, runner: '', lease_ms: 0 })
    },
  }
}

/** Another process has taken the work: this one said for too long nothing. */
export class JobLeaseLost extends Error {
  override readonly name = 'WorkLost'

  constructor(work: JobName) {
    super(`another process goes on with the ${work}`)
  }
}
