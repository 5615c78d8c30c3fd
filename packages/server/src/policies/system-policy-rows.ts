import { inTransaction } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import { systemPolicies } from './rules/system-policies.ts'

/**
 * Stores the system policies of this version of the server, so that they are listed like all others. Their times say when this installation got
 * them. A node of a newer version may have stored more, which stay.
 */
export async function syncSystemPolicies({ db, clock }: Pick<Store, 'db' | 'clock'>): Promise<void> {
  const uids = systemPolicies.map(({ uid }) => uid)
  const rows = await db.kysely.selectFrom('policies').selectAll().where('root', 'in', uids).execute()
  const current = new Map(rows.map((row) => [row.uid, row]))
  const stale = systemPolicies.filter(({ uid, name, description }) => {
    const row = current.get(uid)
    return row?.name !== name || row.description !== description
  })
  if (stale.length === 0) return
  await inTransaction(db, async (tx) => {
    for (const { uid, name, description } of stale) {
      const now = clock()
      const content = { name, description, updated_ms: now }
      // ON CONFLICT (root, uid) does not cover the unique index of names, so the insert of a node that starts at the same time could fail.
      await tx
        .insertInto('policies')
        .values({ root: uid, uid, parent: '', expression: '', created_ms: now, ...content })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      await tx
        .updateTable('policies')
        .set(content)
        .where('root', '=', uid)
        .where('uid', '=', uid)
        .where(({ eb, or }) => or([eb('name', '<>', name), eb('description', '<>', description)]))
        .execute()
    }
  })
}
