import { intersect, noCapabilities, operatorCapabilities } from '@berth/contract/capabilities.ts'
import { notFound, permissionDenied } from '../api/errors.ts'
import { depthOf, isWithin, parentOf, type Uid } from '../api/uid.ts'
import { authorizationOf, requireGrantable } from '../pipeline/authorization.ts'
import type { Call } from '../pipeline/call.ts'
import type { Tx } from '../storage/db.ts'
import { lockResource } from '../storage/resource-rows.ts'
import type { RoleRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { capabilitiesOfRole } from './roles.ts'

/**
 * Locks a role that is being granted in a group, so that it is not deleted meanwhile: a managed role, or a role of that group or one of its
 * ancestors. The caller must be able to grant every capability of the role there (R19). Throws code 5 for any other role, code 7 for a role that grants
 * more than the caller can grant.
 */
export async function lockGrantableRole(
  { db }: Pick<Store, 'db'>,
  tx: Tx,
  call: Call,
  group: Uid,
  uid: string,
): Promise<RoleRow> {
  const reachable = depthOf(uid) === 0 || isWithin(group, parentOf(uid))
  const row = reachable ? await lockResource(db, tx, 'roles', uid, 'share') : undefined
  if (row === undefined) throw notFound('iam.chainguard.dev/Role', uid)
  const capabilities = capabilitiesOfRole(row)
  if (intersect(capabilities, operatorCapabilities) !== noCapabilities)
    throw permissionDenied(
      `the role ${row.name} cannot be granted in a group. To make a user an operator, run berth admin operators add`,
      group,
    )
  requireGrantable(authorizationOf(call).grants, group, capabilities, `grant the role ${row.name}`)
  return row
}
