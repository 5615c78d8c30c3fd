import {
  type CapabilitySet,
  capabilitiesIn,
  capabilityByName,
  capabilityName,
  capabilitySetOf,
  includesAll,
} from '@berth/contract/capabilities.ts'
import type { WhoAmI, WhoAmI_Capability } from '@berth/contract/gen/chainguard/platform/auth/auth_pb.js'
import type { Group } from '@berth/contract/gen/chainguard/platform/iam/groups_pb.js'
import type { Role } from '@berth/contract/gen/chainguard/platform/iam/roles_pb.js'
import { decodeJwt } from 'jose'
import { timestampOf } from '../../api/messages.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { groupMessages } from '../../iam/groups/group-message.ts'
import { managedRoles } from '../../iam/managed-roles.ts'
import { capabilitiesOfRole } from '../../iam/roles.ts'
import { bearerToken } from '../../pipeline/authenticate.ts'
import { authorizationOf, type Grants } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { isTrustedEverywhere } from '../../pipeline/vouching.ts'
import type { Store } from '../../storage/store.ts'

/** Describes the caller's token and the capabilities that it has, for `berth auth status` and similar. */

const SECOND_MS = 1000

export async function whoAmI({ db }: Pick<Store, 'db'>, call: Call): Promise<WhoAmI> {
  const { caller, grants } = authorizationOf(call)
  // The pipeline has verified the token. A page of the console has none.
  const token =
    call.authorizationHeader === undefined ? undefined : decodeJwt(bearerToken(call.authorizationHeader))
  const { iss = '', sub = caller.identity, aud = [], exp, iat } = token ?? {}
  const identity = await db.kysely
    .selectFrom('identities')
    .leftJoin('accounts', 'accounts.identity_uid', 'identities.uid')
    .select(['identities.email', 'identities.name', 'accounts.name as accountName'])
    .where('identities.root', '=', rootOf(caller.identity))
    .where('identities.uid', '=', caller.identity)
    .executeTakeFirst()
  return {
    $typeName: 'chainguard.platform.auth.WhoAmI',
    issuer: iss,
    subject: sub,
    audience: [aud].flat(),
    ...(exp !== undefined && { expiry: timestampOf(exp * SECOND_MS) }),
    ...(iat !== undefined && { issuedAt: timestampOf(iat * SECOND_MS) }),
    capabilities: await capabilitiesByGroup(db, grants),
    email: isTrustedEverywhere(grants.voucher) ? (identity?.email ?? '') : '',
    profile: {
      $typeName: 'chainguard.platform.auth.Profile',
      name: identity?.accountName ?? identity?.name ?? '',
      picture: '',
      givenName: '',
      familyName: '',
    },
  }
}

/** The groups in which capabilities are held, in the order of uids, which is that of the tree. */
async function capabilitiesByGroup(db: Store['db'], grants: Grants): Promise<WhoAmI_Capability[]> {
  const held = [...grants.capabilitiesByScope]
    .filter(([, capabilities]) => capabilitiesIn(capabilities).length > 0)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .slice(0, limits.whoAmIGroupsMax)
  const uids = held.map(([uid]) => uid)
  const groups = await readGroups(db, uids)
  const custom = await customRoles(db, grants, uids)
  return held.map(([uid, capabilities]): WhoAmI_Capability => {
    const role = findRole(capabilities, custom.get(rootOf(uid)) ?? [])
    return {
      $typeName: 'chainguard.platform.auth.WhoAmI.Capability',
      ...(groups.has(uid) ? { group: groups.get(uid) as Group } : {}),
      ...(role === undefined ? { capabilities: namesOf(capabilities) } : { role, capabilities: [] }),
    }
  })
}

async function readGroups(db: Store['db'], uids: readonly string[]): Promise<ReadonlyMap<string, Group>> {
  if (uids.length === 0) return new Map()
  const rows = await db.kysely
    .selectFrom('groups')
    .selectAll()
    .where('root', 'in', [...new Set(uids.map(rootOf))])
    .where('uid', 'in', uids)
    .execute()
  const groups = (await groupMessages(db, rows)).map(
    ({ uid, name, description, resourceLimits, verified, kind, status }): Group => ({
      $typeName: 'chainguard.platform.iam.Group',
      id: uid,
      name,
      description,
      resourceLimits,
      verified,
      kind: kind as number,
      status: status as number,
    }),
  )
  return new Map(groups.map((group) => [group.id, group]))
}

interface KnownRole {
  readonly uid: string
  readonly name: string
  readonly description: string
  readonly capabilities: CapabilitySet
}

const rolesList = capabilitySetOf([capabilityByName('roles.list') ?? 0])

/** The custom roles of the organizations whose roles the caller may read, by organization. */
async function customRoles(
  db: Store['db'],
  grants: Grants,
  uids: readonly string[],
): Promise<ReadonlyMap<string, readonly KnownRole[]>> {
  const roots = [...new Set(uids.filter((uid) => uid !== '').map(rootOf))].filter((root) =>
    includesAll(grants.at(root), rolesList),
  )
  if (roots.length === 0) return new Map()
  const rows = await db.kysely
    .selectFrom('roles')
    .select(['root', 'uid', 'name', 'description', 'capabilities'])
    .where('root', 'in', roots)
    .orderBy('uid')
    .limit(limits.whoAmIGroupsMax)
    .execute()
  return Map.groupBy(
    rows.map((row) => ({ ...row, capabilities: capabilitiesOfRole(row) })),
    ({ root }) => root,
  )
}

/** The role that grants exactly these capabilities; a managed role before a custom one. */
function findRole(capabilities: CapabilitySet, custom: readonly KnownRole[]): Role | undefined {
  const role = [...managedRoles, ...custom].find((one) => one.capabilities === capabilities)
  return (
    role && {
      $typeName: 'chainguard.platform.iam.Role',
      id: role.uid,
      name: role.name,
      description: role.description,
      capabilities: namesOf(role.capabilities),
    }
  )
}

function namesOf(capabilities: CapabilitySet): string[] {
  return capabilitiesIn(capabilities).flatMap((capability) => capabilityName(capability) ?? [])
}
