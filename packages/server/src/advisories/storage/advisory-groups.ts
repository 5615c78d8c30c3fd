import { rootOf, type Uid } from '../../api/uid.ts'
import type { Tx } from '../../storage/db.ts'

/** The row of a group with advisories. */

/** Locks the group against other imports until the transaction ends. */
export async function lockAdvisories(tx: Tx, group: Uid): Promise<void> {
  await tx
    .insertInto('advisory_groups')
    .values({ root: rootOf(group), uid: group, revision: 0, changed_ms: 0, public: 0, publication: '' })
    // An update that changes nothing locks the row.
    .onConflict((conflict) => conflict.columns(['root', 'uid']).doUpdateSet({ uid: group }))
    .execute()
}

/** Locks the group as `lockAdvisories` does if it has advisories. For jobs: the group may be deleted meanwhile, and must not get a row again. */
export async function lockKnownAdvisories(tx: Tx, group: Uid): Promise<void> {
  await tx
    .updateTable('advisory_groups')
    .set((row) => ({ revision: row.ref('revision') }))
    .where('root', '=', rootOf(group))
    .where('uid', '=', group)
    .execute()
}

/** Increases the revision, so that published feeds of the group are built again. */
export async function markAdvisoriesChanged(tx: Tx, group: Uid, now: number): Promise<void> {
  await tx
    .updateTable('advisory_groups')
    .set((row) => ({ revision: row('revision', '+', 1), changed_ms: now }))
    .where('root', '=', rootOf(group))
    .where('uid', '=', group)
    .execute()
}
