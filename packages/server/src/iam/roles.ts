import {
  type CapabilitySet,
  capabilitiesIn,
  capabilityName,
  capabilitySetOf,
  includesAll,
  isInternalOnly,
  operatorCapabilities,
} from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import {
  type ListRolesRequest,
  type Role,
  RoleSchema,
  RolesService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import {
  type FieldViolation,
  failedPrecondition,
  invalidArgument,
  notFound,
  permissionDenied,
} from '../api/errors.ts'
import { checkDescription, checkName } from '../api/fields.ts'
import { timestampOf } from '../api/messages.ts'
import { parseUid, rootOf } from '../api/uid.ts'
import { authorizationOf, requireCapabilities, requireGrantable } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'
import { insertRows } from '../storage/bulk-rows.ts'
import { countInsertedRoots } from '../storage/counts/row-counts.ts'
import { inTransaction, type Tx } from '../storage/db.ts'
import { readResource, updateResource } from '../storage/resource-rows.ts'
import { resourceType } from '../storage/resources/declared-resource.ts'
import { type ResourceDeclaration, resourceMethods } from '../storage/resources/resource-methods.ts'
import type { RoleRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { lockGroup } from './groups/parent-group.ts'
import { managedRoleByUid, managedRoles } from './managed-roles.ts'

/**
 * Roles: named sets of capabilities. The managed roles come with the product, are at the root, and every caller can read them; custom
 * roles belong to a group and can be bound there and in the groups below it.
 */

const managedUids = managedRoles.map((role) => role.uid)

const customRoles: ResourceDeclaration<'roles', typeof RoleSchema, ListRolesRequest> = {
  table: 'roles',
  schema: RoleSchema,
  isCached: true,
  toMessages: (rows) => rows.map(toRole),
  filter: ({ name }) => ({ equals: { name }, publicRoots: managedUids }),
  lockParent: lockGroup,
  requireChangeable(uid) {
    if (managedRoleByUid.has(uid)) throw permissionDenied('managed roles cannot be changed or deleted')
  },
  write: {
    checks: ({ next }) => [
      checkName(next.name),
      checkDescription(next.description),
      ...checkCapabilities(next.capabilities),
    ],
    // An update grants too: every binding of the role changes with it.
    authorize({ call, parent, next, existing }) {
      const action = existing === undefined ? 'create this role' : 'change this role'
      requireGrantable(authorizationOf(call).grants, parent, capabilitySetOf(next.capabilities), action)
    },
    columns: ({ next: { name, description, capabilities } }) => ({
      name,
      description,
      capabilities: serializeCapabilities(capabilitySetOf(capabilities)),
    }),
  },
  async beforeDelete(tx, { uid }) {
    const users = await listRoleUsers(tx, uid)
    if (users.length > 0)
      throw failedPrecondition('RESOURCE_IN_USE', `role ${uid} is used by ${users.join(', ')}`)
  },
}

export function rolesService(store: Store) {
  return implement(RolesService, {
    ...resourceMethods(store, RolesService, customRoles),

    // Unscoped in the schema, because every caller can read managed roles: the check for custom roles is here. Only lists are cached.
    async getRole({ uid }, call) {
      const parsed = parseUid(uid)
      if (parsed === undefined) throw invalidArgument('uid', uid === '' ? 'is required' : 'must be a uid')
      if (!managedRoleByUid.has(parsed))
        requireCapabilities(authorizationOf(call).grants, parsed, listCapability, 'read a role')
      const row = await readResource(store.db, 'roles', parsed)
      if (row === undefined) throw notFound(resourceType(RoleSchema), parsed)
      return toRole(row)
    },
  })
}

const listCapability = capabilitySetOf([Capability.CAP_IAM_ROLES_LIST])

function toRole(row: RoleRow): Role {
  return {
    $typeName: 'chainguard.platform.iam.v2beta1.Role',
    uid: row.uid,
    name: row.name,
    description: row.description,
    capabilities: JSON.parse(row.capabilities) as Capability[],
    createTime: timestampOf(row.created_ms),
    updateTime: timestampOf(row.updated_ms),
  }
}

/** Returns what a stored role grants. Numbers of removed capabilities grant nothing. */
export function capabilitiesOfRole(row: Pick<RoleRow, 'uid' | 'capabilities'>): CapabilitySet {
  return (
    managedRoleByUid.get(row.uid)?.capabilities ??
    capabilitySetOf(JSON.parse(row.capabilities) as Capability[])
  )
}

function serializeCapabilities(capabilities: CapabilitySet): string {
  return JSON.stringify(capabilitiesIn(capabilities))
}

function checkCapabilities(capabilities: readonly Capability[]): (FieldViolation | undefined)[] {
  if (capabilities.length === 0)
    return [{ field: 'capabilities', description: 'must name at least one capability' }]
  const withInternal = capabilities.includes(Capability.CAP_INTERNAL)
  return capabilities.map((capability, at) => {
    const field = `capabilities[${at}]`
    if (capabilityName(capability) === undefined)
      return { field, description: `${capability} is not a capability` }
    if (includesAll(operatorCapabilities, capabilitySetOf([capability])))
      return { field, description: `${capabilityName(capability)} cannot be in a custom role` }
    if (isInternalOnly(capability) && !withInternal) {
      return { field, description: `${capabilityName(capability)} is only for roles that also hold internal` }
    }
    return undefined
  })
}

/** What uses a role, in words, with the table and the column that holds the uid of the role. */
const roleReferences = [
  ['role bindings', 'role_bindings', 'role_uid'],
  ['identity providers', 'identity_providers', 'default_role'],
  ['mappings of external groups', 'external_group_role_mappings', 'role_uid'],
] as const

/**
 * Returns the kinds of resources that use a role, in words. Only resources of the role's organization can use it. Invites do not count:
 * without its role an invite cannot be accepted.
 */
async function listRoleUsers(tx: Tx, uid: string): Promise<string[]> {
  const found: string[] = []
  for (const [label, table, column] of roleReferences) {
    const query = tx
      .selectFrom(table)
      .select('uid')
      .where('root', '=', rootOf(uid))
      .where(column as 'uid', '=', uid)
      .limit(1)
    if ((await query.execute()).length > 0) found.push(label)
  }
  return found
}

/**
 * Stores the managed roles of this version of the product, so that they are listed like all others. Their times say when this
 * installation got them.
 */
export async function syncManagedRoles({ db, clock }: Pick<Store, 'db' | 'clock'>): Promise<void> {
  const rows = await db.kysely.selectFrom('roles').selectAll().where('root', 'in', managedUids).execute()
  const current = new Map(rows.map((row) => [row.uid, row]))
  const stale = managedRoles.filter(({ uid, name, description, capabilities }) => {
    const row = current.get(uid)
    return (
      row?.name !== name ||
      row.description !== description ||
      row.capabilities !== serializeCapabilities(capabilities)
    )
  })
  if (stale.length === 0) return
  const now = clock()
  const contents = stale.map(({ uid, name, description, capabilities }) => ({
    uid,
    name,
    description,
    capabilities: serializeCapabilities(capabilities),
    updated_ms: now,
  }))
  await inTransaction(db, async (tx) => {
    for (const { uid, ...content } of contents)
      if (current.has(uid)) await updateResource(tx, 'roles', uid, content)
    const added = contents.filter(({ uid }) => !current.has(uid))
    const addedRows = added.map((row) => ({ ...row, root: row.uid, parent: '', created_ms: now }))
    await insertRows(db, tx, 'roles', addedRows)
    await countInsertedRoots(
      db,
      tx,
      'roles',
      added.map(({ uid }) => uid),
    )
  })
}
