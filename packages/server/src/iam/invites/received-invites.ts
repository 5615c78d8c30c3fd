import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { normalizeEmail } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { pathOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { verifiedEmailOf } from '../../pipeline/vouching.ts'
import { readResource } from '../../storage/resource-rows.ts'
import { readRowsByUid } from '../../storage/rows-by-uid.ts'
import type { Store } from '../../storage/store.ts'
import { groupPath, readGroupNames } from '../groups/group-names.ts'
import { isBindable } from '../role-bindings.ts'
import { readInviter } from './inviter.ts'

/** Returns the open invites for the verified email address of the caller that the caller can accept, the first to expire first. */
export async function findReceivedInvites({ db, clock }: Store, call: Call) {
  const { caller, grants } = authorizationOf(call)
  const identity = await readResource(db, 'identities', caller.identity)
  if (identity === undefined) return []
  const { address, organization } = verifiedEmailOf(grants.voucher, identity.email)
  if (address === '') return []
  let query = db.kysely
    .selectFrom('group_invites as invites')
    .innerJoin('groups as organizations', (join) =>
      join.onRef('organizations.root', '=', 'invites.root').onRef('organizations.uid', '=', 'invites.root'),
    )
    .selectAll('invites')
    .where('invites.email', '<>', '')
    .where((where) => where(where.fn<string>('lower', ['invites.email']), '=', normalizeEmail(address)))
    .where('invites.expires_ms', '>', clock())
    .where('organizations.status', '<>', OrgStatus.SUSPENDED)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('role_bindings')
            .select('role_bindings.uid')
            .whereRef('role_bindings.root', '=', 'invites.root')
            .whereRef('role_bindings.parent', '=', 'invites.parent')
            .whereRef('role_bindings.role_uid', '=', 'invites.role_uid')
            .where('role_bindings.identity_uid', '=', caller.identity),
        ),
      ),
    )
    .orderBy('invites.expires_ms')
    .orderBy('invites.uid')
    .limit(limits.receivedInvitesMax)
  if (organization !== undefined) query = query.where('invites.root', '=', organization)
  const open = (await query.execute()).filter(({ parent }) => isBindable(caller.identity, parent))
  const [roles, names] = await Promise.all([
    readRowsByUid(
      db.kysely,
      'roles',
      ['name'],
      open.map(({ role_uid }) => role_uid),
    ),
    readGroupNames(
      db,
      open.flatMap(({ parent }) => pathOf(parent as Uid)),
    ),
  ])
  const invites = open.flatMap(({ role_uid, ...invite }) => {
    const role = roles.get(role_uid)
    return role === undefined ? [] : [{ ...invite, role }]
  })
  return Promise.all(
    invites.map(async ({ uid, parent, expires_ms, created_by, role }) => ({
      $typeName: 'berth.iam.v1.ReceivedInvite' as const,
      uid,
      groupPath: groupPath(parent, names),
      roleName: role.name,
      inviter: await readInviter(db.kysely, created_by),
      expirationTime: timestampOf(Number(expires_ms)),
    })),
  )
}
