import { notFound } from '../../api/errors.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { GroupRow } from '../../storage/schema/tables.ts'

/** Type of groups in errors. */
export const GROUP_TYPE = 'iam.chainguard.dev/Group'

/**
 * Locks the group that a resource is created in. The deletion of the group locks it too, so the group is not deleted meanwhile. Throws
 * code 5 if the group does not exist.
 */
export async function lockGroup(db: Db, tx: Tx, uid: string): Promise<GroupRow> {
  const row = await lockResource(db, tx, 'groups', uid, 'share')
  if (row === undefined) throw notFound(GROUP_TYPE, uid)
  return row
}
