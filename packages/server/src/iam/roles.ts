import {
  type CapabilitySet,
  capabilitiesIn,
  capabilityName,
  capabilitySetOf,
  isInternalOnly,
} from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import {
  type Role,
  RoleSchema,
  RolesService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { create, equals } from '@bufbuild/protobuf'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
import {
  type FieldViolation,
  failedPrecondition,
  invalidArgument,
  notFound,
  permissionDenied,
} from '../api/errors.ts'
import { checkDescription, checkName, requireValid } from '../api/fields.ts'
import { applyUpdate, timestampOf } from '../api/messages.ts'
import { timeSortFields } from '../api/order-by.ts'
import { parseUid, rootOf, type Uid } from '../api/uid.ts'
import { authorizationOf, requireCapabilities, requireScope } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'
import { mutate } from '../storage/changes/mutation.ts'
import { inTransaction, type Tx } from '../storage/db.ts'
import { listPage } from '../storage/list/list.ts'
import {
  deleteResource,
  insertResource,
  lockForChange,
  nextUpdateMs,
  type ResourceDefinition,
  readResource,
  updateResource,
} from '../storage/resource-rows.ts'
import type { RoleRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { lockGroup } from './groups/parent-group.ts'
import { managedRoleByUid, managedRoles } from './managed-roles.ts'

/**
 * Roles: named sets of capabilities. The managed ones come with the product, lie at the root, are everyone's to see and nobody's
 * to change; custom ones belong to a group and can be bound there and below.
 */

const TYPE = 'iam.chainguard.dev/Role'

const KIND: ResourceDefinition<'roles', typeof RoleSchema> = {
  table: 'roles',
  schema: RoleSchema,
  type: TYPE,
  toMessage: toRole,
}

const managedUids = managedRoles.map((role) => role.uid)

export function rolesService(store: Store) {
  const { db, clock, uids } = store

  return implement(RolesService, {
    async listRoles(request, call) {
      const { rows, ...page } = await listPage(store, call, request, {
        table: 'roles',
        sortFields: { uid: 'uid', name: 'name', ...timeSortFields },
        defaultOrder: 'uid',
        equals: { name: request.name },
        publicRoots: managedUids,
      })
      return {
        $typeName: 'chainguard.platform.iam.v2beta1.ListRolesResponse' as const,
        roles: rows.map(toRole),
        ...page,
      }
    },

    // Unscoped in the schema, since everyone may read managed roles: the check for custom ones is here.
    async getRole({ uid }, call) {
      const parsed = parseUid(uid)
      if (parsed === undefined) throw invalidArgument('uid', uid === '' ? 'must be given' : 'must be a uid')
      if (!managedRoleByUid.has(parsed))
        requireCapabilities(authorizationOf(call).grants, parsed, listCapability, 'read a role')
      const row = await readResource(db, 'roles', parsed)
      if (row === undefined) throw notFound(TYPE, parsed)
      return toRole(row)
    },

    async createRole({ role = create(RoleSchema) }, call) {
      const group = requireScope(call).scope as Uid
      return mutate(store, call, async (tx) => {
        await lockGroup(db, tx, group)
        requireValid(
          checkName(role.name),
          checkDescription(role.description),
          ...checkCapabilities(role.capabilities),
        )
        const capabilities = capabilitySetOf(role.capabilities)
        requireCapabilities(authorizationOf(call).grants, group, capabilities, 'create this role')
        const now = clock()
        const row: RoleRow = {
          root: rootOf(group),
          uid: uids.child(group),
          parent: group,
          name: role.name,
          description: role.description,
          capabilities: serializeCapabilities(capabilities),
          created_ms: now,
          updated_ms: now,
        }
        await insertResource(db, tx, 'roles', row)
        return { uid: row.uid, response: toRole(row) }
      })
    },

    async updateRole({ role: patch = create(RoleSchema), updateMask }, call) {
      const { scope } = requireScope(call)
      requireCustomRole(scope)
      return mutate(store, call, async (tx) => {
        const { row, current } = await lockForChange(db, tx, call, KIND, scope)
        const next = applyUpdate(RoleSchema, current, patch, updateMask?.paths)
        if (equals(RoleSchema, current, next)) return { uid: scope, response: current, unchanged: true }
        requireValid(
          checkName(next.name),
          checkDescription(next.description),
          ...checkCapabilities(next.capabilities),
        )
        const capabilities = capabilitySetOf(next.capabilities)
        // Every binding of the role changes with it, so this is granting all that it holds.
        requireCapabilities(authorizationOf(call).grants, row.parent, capabilities, 'change this role')
        const changed = {
          name: next.name,
          description: next.description,
          capabilities: serializeCapabilities(capabilities),
          updated_ms: nextUpdateMs(store, row),
        }
        await updateResource(tx, 'roles', scope, changed)
        return { uid: scope, response: toRole({ ...row, ...changed }) }
      })
    },

    async deleteRole(_request, call) {
      const { scope } = requireScope(call)
      requireCustomRole(scope)
      return mutate(store, call, async (tx) => {
        await lockForChange(db, tx, call, KIND, scope)
        const inUse = await listRoleUsers(tx, scope)
        if (inUse.length > 0)
          throw failedPrecondition('RESOURCE_IN_USE', `role ${scope} is used by ${inUse.join(', ')}`)
        await deleteResource(db, tx, 'roles', scope)
        return { uid: scope, response: create(EmptySchema) }
      })
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

/** What a stored role grants; numbers that no longer stand for a capability grant nothing. */
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
    if (isInternalOnly(capability) && !withInternal) {
      return { field, description: `${capabilityName(capability)} is only for roles that also hold internal` }
    }
    return undefined
  })
}

/** What keeps a role from being deleted, in words, with the table and the column that names the role. */
const roleReferences = [
  ['role bindings', 'role_bindings', 'role_uid'],
  ['identity providers', 'identity_providers', 'default_role'],
  ['mappings of external groups', 'external_group_role_mappings', 'role_uid'],
] as const

/** The kinds of resources that use a role, in words. An invite may be left without one: it can then not be accepted. */
async function listRoleUsers(tx: Tx, uid: string): Promise<string[]> {
  const found: string[] = []
  for (const [label, table, column] of roleReferences) {
    const query = tx
      .selectFrom(table)
      .select('uid')
      .where(column as 'uid', '=', uid)
      .limit(1)
    if ((await query.execute()).length > 0) found.push(label)
  }
  return found
}

function requireCustomRole(uid: string): void {
  if (managedRoleByUid.has(uid)) throw permissionDenied('managed roles cannot be changed or deleted')
}

/**
 * Makes the stored managed roles those of this version of the product, so that they can be listed like any other. The time
 * they carry is when the installation got them.
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
  await inTransaction(db, async (tx) => {
    for (const { uid, name, description, capabilities } of stale) {
      const now = clock()
      const content = {
        name,
        description,
        capabilities: serializeCapabilities(capabilities),
        updated_ms: now,
      }
      const changed = await tx
        .updateTable('roles')
        .set(content)
        .where('root', '=', uid)
        .where('uid', '=', uid)
        .executeTakeFirst()
      if (changed.numUpdatedRows > 0n) continue
      await insertResource(db, tx, 'roles', { root: uid, uid, parent: '', created_ms: now, ...content })
    }
  })
}
