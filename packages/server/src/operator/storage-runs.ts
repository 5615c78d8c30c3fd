import type { CursorValue } from '../api/page-tokens.ts'
import type { StorageRunKind } from '../registry/runs/recorded-run.ts'
import { inTransaction } from '../storage/db.ts'
import type { StorageRunRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import type { OperatorActor } from './actor.ts'

/** Runs of garbage collection and scrub, for operators. */

/** Lists runs, the newest first. */
export async function listStorageRuns(
  { db }: Pick<Store, 'db'>,
  kind: StorageRunKind | undefined,
  { max, after }: { readonly max: number; readonly after?: readonly CursorValue[] | undefined },
): Promise<readonly StorageRunRow[]> {
  let query = db.kysely.selectFrom('storage_runs').selectAll()
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (after !== undefined) {
    const [startedMs = 0, id = ''] = after
    query = query.where((row) =>
      row.or([
        row('started_ms', '<', Number(startedMs)),
        row.and([row('started_ms', '=', Number(startedMs)), row('id', '>', String(id))]),
      ]),
    )
  }
  return query.orderBy('started_ms', 'desc').orderBy('id').limit(max).execute()
}

export function readStorageRun({ db }: Pick<Store, 'db'>, id: string): Promise<StorageRunRow | undefined> {
  return db.kysely.selectFrom('storage_runs').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Asks the process of a run to end it; false if the run has ended. `about`: what the audit log records the change about. */
export function cancelStorageRun(
  { db }: Pick<Store, 'db'>,
  id: string,
  actor: OperatorActor,
  about: string,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const rows = await tx
      .updateTable('storage_runs')
      .set({ cancel: 1 })
      .where('id', '=', id)
      .where('state', '=', 'running')
      .returning('id')
      .execute()
    if (rows.length === 0) return false
    await actor.record(tx, about)
    return true
  })
}
