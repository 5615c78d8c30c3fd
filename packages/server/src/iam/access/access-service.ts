import { type CapabilitySet, includesAll } from '@berth/contract/capabilities.ts'
import {
  AccessService,
  type FindMembersRequest,
  MemberKind,
  type WhoCanRequest,
} from '@berth/contract/gen/berth/iam/v1/access_pb.js'
import { type FieldViolation, invalidArgument } from '../../api/errors.ts'
import { normalizeEmail, requireValid } from '../../api/fields.ts'
import { parseUid } from '../../api/uid.ts'
import { implement } from '../../pipeline/call.ts'
import type { Store } from '../../storage/store.ts'
import { managedRoles, withCatalogOfOwner } from '../managed-roles.ts'
import { capabilitiesOfRole } from '../roles.ts'
import { findCandidates } from './candidates.ts'
import { type ExplainOptions, explainAccess, readCapability } from './explain.ts'
import { listMembers } from './members.ts'
import { type ReadablePath, readPath } from './readable-path.ts'
import { countRoleUses } from './role-uses.ts'

/** Reports who can do what, and why (ADR 50). It changes nothing. */
export function accessService(options: ExplainOptions) {
  const { store, lastSeen, rules } = options

  return implement(AccessService, {
    async findMembers(request, call) {
      const { query, kind, role, directOnly, identity } = request
      requireValid(...checkFilters(request))
      const path = await readPath(store.db, call)
      const roles = role === '' ? undefined : [role]
      const filter = { query: normalizeEmail(query.trim()), kind, roles, directOnly, identity }
      const list = await listMembers(store, lastSeen, call, request, { path, filter })
      return { $typeName: 'berth.iam.v1.FindMembersResponse' as const, ...list }
    },

    async whoCan(request: WhoCanRequest, call) {
      const needed = readCapability(request.capability)
      const path = await readPath(store.db, call)
      // In a suspended organization no role applies.
      const roles = path.isSuspended ? [] : await rolesWith(store, path, needed, rules.ownersManageCatalog)
      const list = await listMembers(store, lastSeen, call, request, { path, filter: { roles } })
      return { $typeName: 'berth.iam.v1.WhoCanResponse' as const, ...list }
    },

    async explainAccess(request, call) {
      return explainAccess(options, call, request, await readPath(store.db, call))
    },

    async findCandidates({ query }, call) {
      const { root } = await readPath(store.db, call)
      const found = await findCandidates(store, lastSeen, call, { root, query })
      return { $typeName: 'berth.iam.v1.FindCandidatesResponse' as const, ...found }
    },

    async countRoleUses(_, call) {
      const path = await readPath(store.db, call)
      return {
        $typeName: 'berth.iam.v1.CountRoleUsesResponse' as const,
        roles: await countRoleUses(store, call, path),
      }
    },
  })
}

function checkFilters({ kind, role, identity }: FindMembersRequest): (FieldViolation | undefined)[] {
  if (MemberKind[kind] === undefined) throw invalidArgument('kind', `${kind} is not a kind of members`)
  const checkUid = (field: string, uid: string) =>
    uid === '' || parseUid(uid) !== undefined ? undefined : { field, description: 'must be a uid' }
  return [checkUid('role', role), checkUid('identity', identity)]
}

/** Returns the uids of the roles with capabilities: managed roles, and custom roles that can be bound on a path. */
async function rolesWith(
  { db }: Store,
  { root, groups }: ReadablePath,
  needed: CapabilitySet,
  ownersManageCatalog: boolean,
): Promise<string[]> {
  const custom = await db.kysely
    .selectFrom('roles')
    .select(['uid', 'capabilities'])
    .where('root', '=', root)
    .where('parent', 'in', groups)
    .execute()
  const all = [
    ...managedRoles,
    ...custom.map((row) => ({ uid: row.uid, capabilities: capabilitiesOfRole(row) })),
  ]
  return all
    .filter(({ capabilities }) =>
      includesAll(ownersManageCatalog ? withCatalogOfOwner(capabilities) : capabilities, needed),
    )
    .map(({ uid }) => uid)
}
