import { notFound } from '../../api/errors.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { GroupRow } from '../../storage/schema/tables.ts'

/** What groups are called in errors. */
export const GROUP_TYPE = 'iam.chainguard.dev/Group'

/**
 * The group that something is being created in, kept from being deleted meanwhile: its deletion locks it too, so nothing slips
 * in after it has looked. Throws code 5 when there is no such group.
 */
export async function lockGroup(db: Db, tx: Tx, uid: string): Promise<GroupRow> {
  const row = await lockResource(db, tx, 'groups', uid, 'share')
  if (row === undefined) throw notFound(GROUP_TYPE, uid)
  return row
}
