import { rootOf, type Uid } from '../../api/uid.ts'
import type { Tx } from '../../storage/db.ts'

/** What is known of a group because of its advisories. */

/** Lets nobody else import into the group until the transaction ends, so that a document is compared with what stays. */
export async function lockAdvisories(tx: Tx, group: Uid): Promise<void> {
  await tx
    .insertInto('advisory_groups')
    .values({ root: rootOf(group), uid: group, revision: 0, changed_ms: 0, public: 0, publication: '' })
    // An update that changes nothing holds the row.
    .onConflict((conflict) => conflict.columns(['root', 'uid']).doUpdateSet({ uid: group }))
    .execute()
}

/** Makes what is published of the group be made anew. */
export async function markAdvisoriesChanged(tx: Tx, group: Uid, now: number): Promise<void> {
  await tx
    .updateTable('advisory_groups')
    .set((row) => ({ revision: row('revision', '+', 1), changed_ms: now }))
    .where('root', '=', rootOf(group))
    .where('uid', '=', group)
    .execute()
}
