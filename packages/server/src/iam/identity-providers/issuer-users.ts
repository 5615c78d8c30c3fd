import { RelationshipType } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import type { Uid } from '../../api/uid.ts'
import { authorizationOf, requireCapabilities } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import type { Tx } from '../../storage/db.ts'
import { readIdentityRoots } from '../../storage/list/named-roots.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'
import { capabilitiesOfRole } from '../roles.ts'

/**
 * Requires that the caller holds every capability that users of an issuer hold in an organization, at each group (R19): a provider of this
 * issuer signs them in there, so its administrator can act as any of them, and assume the identities of the organization that trust tokens
 * of this server (`ownIssuer`). Throws code 7.
 */
export async function requireCapabilitiesOfIssuerUsers(
  { db }: Pick<Store, 'db'>,
  tx: Tx,
  call: Call,
  organization: Uid,
  { issuer, ownIssuer }: { readonly issuer: string; readonly ownIssuer: string },
): Promise<void> {
  if (issuer === '') return
  const roots = await readIdentityRoots(
    db,
    (sql) => `select identity_uid from role_bindings where root = ${sql.bind(organization)}`,
    tx,
  )
  const bindingsOfUsers = tx
    // A database that is distributed by the root joins users, which are roots of their own, with the rows of a subquery alone.
    .selectFrom(tx.selectFrom('role_bindings').selectAll().where('root', '=', organization).as('b'))
    .innerJoin('identities as i', (join) =>
      join.onRef('i.root', '=', 'b.identity_uid').onRef('i.uid', '=', 'b.identity_uid'),
    )
    .select(['b.parent', 'b.role_uid'])
    .distinct()
    .where('i.issuer', '=', issuer)
    .$if(roots !== undefined, (query) => query.where('i.root', 'in', roots ?? []))
    .orderBy('b.role_uid')
    .orderBy('b.parent')
  const bindingsOfAssumable = tx
    .selectFrom('role_bindings')
    .select(['role_bindings.parent', 'role_bindings.role_uid'])
    .distinct()
    .where('role_bindings.root', '=', organization)
    .orderBy('role_bindings.role_uid')
    .orderBy('role_bindings.parent')
    .innerJoin('identities', 'identities.uid', 'role_bindings.identity_uid')
    .where('identities.root', '=', organization)
    .where('identities.issuer', '=', ownIssuer)
    .where('identities.relationship', '=', RelationshipType.CLAIM_MATCH)
  const held = [...(await bindingsOfUsers.execute()), ...(await bindingsOfAssumable.execute())]
  const { grants } = authorizationOf(call)
  for (const { parent, role_uid } of held) {
    const role = await lockResource(db, tx, 'roles', role_uid, 'share')
    if (role === undefined) continue
    const action = `set up an identity provider of ${issuer}, whose persons hold or may assume the role ${role.name},`
    requireCapabilities(grants, parent, capabilitiesOfRole(role), action)
  }
}
