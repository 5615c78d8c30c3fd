import { randomBytes } from 'node:crypto'
import { limits } from '../../config/limits.ts'
import { startPeriodicTask } from '../../runtime/periodic-task.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import { describeError } from '../../storage/jobs/job-results.ts'
import type { StorageRunRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import type { Finding } from '../scrub/findings.ts'

/**
 * Runs of garbage collection and scrub, as every process of the installation can see and cancel them: a row with the progress, which the
 * process that runs it writes every few seconds, and with the result.
 */

export type StorageRunKind = 'collection' | 'scrub'
export type StorageRunState = 'running' | 'succeeded' | 'failed' | 'cancelled'

/** Who runs what. */
export interface RunFacts {
  readonly kind: StorageRunKind
  readonly dryRun: boolean
  /** uid of the identity that started it, or `system`. */
  readonly actor: string
}

/** What was counted, by kind. */
export type RunTotals = Readonly<Record<string, { readonly count: number; readonly bytes: number }>>

export interface RunProgress {
  readonly step: string
  readonly done: number
  /** 0: unknown. */
  readonly total: number
  readonly totals: RunTotals
}

/** The run as the work sees it. */
export interface RunControl {
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal
  progress(now: RunProgress): void
}

export interface RunResult {
  readonly totals: RunTotals
  readonly findings?: readonly Finding[]
}

export interface RecordedRun {
  readonly id: string
  /** Does the work and records how it ended. Rejects with what the work threw, or with RunCancelled. */
  complete<T extends RunResult>(work: (control: RunControl) => Promise<T>): Promise<T>
}

/** An operator cancelled the run. */
export class RunCancelled extends Error {
  override readonly name = 'RunCancelled'

  constructor() {
    super('the run was cancelled; finished steps are kept')
  }
}

const ID_BYTES = 8

type RunStore = Pick<Store, 'db' | 'clock'>

/** Records the start of a run. `with`: further writes of the transaction. */
export async function startRecordedRun(
  { db, clock }: RunStore,
  { kind, dryRun, actor }: RunFacts,
  onError: (error: unknown) => void,
  withRun?: (tx: Tx) => Promise<void>,
): Promise<RecordedRun> {
  const id = randomBytes(ID_BYTES).toString('hex')
  const startedMs = clock()
  await inTransaction(db, async (tx) => {
    await tx
      .insertInto('storage_runs')
      .values({
        ...{ id, kind, actor, state: 'running', dry_run: dryRun ? 1 : 0, node: db.node, cancel: 0 },
        ...{ started_ms: startedMs, updated_ms: startedMs, ended_ms: 0 },
        ...{ step: '', done: 0, total: 0, totals: '{}', findings: '[]', error: '' },
      })
      .execute()
    await deleteOldRuns(tx, kind, startedMs - limits.storageRunLostMs)
    await withRun?.(tx)
  })
  const update = (tx: Tx, changed: Partial<StorageRunRow>) =>
    tx
      .updateTable('storage_runs')
      .set({ ...changed, updated_ms: clock() })
      .where('id', '=', id)
      .returning('cancel')
      .execute()

  return {
    id,
    async complete<T extends RunResult>(work: (control: RunControl) => Promise<T>): Promise<T> {
      const cancelled = new AbortController()
      let latest: RunProgress | undefined
      const task = startPeriodicTask(
        limits.storageRunProgressMs,
        async () => {
          const [row] = await inTransaction(db, (tx) => update(tx, progressColumns(latest)))
          if (row?.cancel === 1) cancelled.abort(new RunCancelled())
        },
        onError,
      )
      const end = async (state: StorageRunState, changed: Partial<StorageRunRow>) => {
        await task.stop()
        await inTransaction(db, (tx) =>
          update(tx, { ...progressColumns(latest), ...changed, state, ended_ms: clock() }),
        )
      }
      let result: T
      try {
        result = await work({
          signal: cancelled.signal,
          progress(now) {
            latest = now
          },
        })
      } catch (error) {
        const state = cancelled.signal.aborted ? 'cancelled' : 'failed'
        const reason = cancelled.signal.aborted ? '' : describeError(error)
        await end(state, { error: reason }).catch(onError)
        throw error
      }
      await end('succeeded', {
        totals: JSON.stringify(result.totals),
        findings: JSON.stringify(result.findings ?? []),
      })
      return result
    },
  }
}

function progressColumns(now: RunProgress | undefined): Partial<StorageRunRow> {
  if (now === undefined) return {}
  const { step, done, total, totals } = now
  return { step, done, total, totals: JSON.stringify(totals) }
}

async function deleteOldRuns(tx: Tx, kind: StorageRunKind, lostBefore: number): Promise<void> {
  const old = await tx
    .selectFrom('storage_runs')
    .select('id')
    .where('kind', '=', kind)
    // A run that continues needs its row, to be cancelled and to end.
    .where((row) => row.or([row('state', '<>', 'running'), row('updated_ms', '<', lostBefore)]))
    .orderBy('started_ms', 'desc')
    .orderBy('id')
    .offset(limits.storageRunsMax)
    .limit(limits.storageRunsMax)
    .execute()
  const ids = old.map(({ id }) => id)
  if (ids.length > 0) await tx.deleteFrom('storage_runs').where('id', 'in', ids).execute()
}

/** The state of a run now: one whose process does not write its progress any more has failed. */
export function currentState(
  row: Pick<StorageRunRow, 'state' | 'updated_ms' | 'error'>,
  now: number,
): { readonly state: StorageRunState; readonly error: string } {
  const { state, error } = row
  if (state === 'running' && now - Number(row.updated_ms) > limits.storageRunLostMs)
    return { state: 'failed', error: 'its process ended' }
  return { state: state as StorageRunState, error }
}
