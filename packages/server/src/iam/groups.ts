import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import {
  type Group,
  GroupSchema,
  GroupsService,
  OrgKind,
  OrgStatus,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { create, equals } from '@bufbuild/protobuf'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
import { deleteAdvisoryDependents } from '../advisories/group-dependents.ts'
import {
  alreadyExists,
  type FieldViolation,
  failedPrecondition,
  invalidArgument,
  notFound,
  permissionDenied,
} from '../api/errors.ts'
import { checkDescription, checkName, requireValid } from '../api/fields.ts'
import { applyUpdate } from '../api/messages.ts'
import { timeSortFields } from '../api/order-by.ts'
import { parentOf, rootOf, type Uid } from '../api/uid.ts'
import {
  authorizationOf,
  describeResource,
  isNarrowed,
  isPlatformAdministrator,
  requireScope,
  requireUserAuthority,
} from '../pipeline/authorization.ts'
import { type Call, implement } from '../pipeline/call.ts'
import { type RecordedProvider, recordedProviderOf } from '../pipeline/vouching.ts'
import { requireMayFreePath } from '../registry/policies/policy-protection.ts'
import { deleteRegistrySettings } from '../registry/resources/repo-dependents.ts'
import { mutate } from '../storage/changes/mutation.ts'
import { deleteLimits } from '../storage/counts/resource-limits.ts'
import type { Tx } from '../storage/db.ts'
import { listPage } from '../storage/list/list.ts'
import { findOrganizationByName } from '../storage/organizations.ts'
import {
  deleteResource,
  findUid,
  insertResource,
  lockForChange,
  nextUpdateMs,
  type ResourceDefinition,
  readResource,
  updateResource,
} from '../storage/resource-rows.ts'
import type { GroupRow, ResourceTable } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { accessRequestHandlers } from './groups/access-requests.ts'
import { groupMessage, groupMessages } from './groups/group-message.ts'
import { updateAllGroups } from './groups/organization.ts'
import { GROUP_TYPE, lockGroup } from './groups/parent-group.ts'
import { resolveParent } from './groups/parent-reference.ts'
import { bindCreator, unbindCreators } from './role-bindings.ts'

/**
 * Groups: the tree that everything hangs in. A root group is an organization; what is granted at a group holds in all that is
 * below it. Siblings differ in name, and a group can only go when nothing is left in it.
 */

const sortFields = { uid: 'uid', name: 'name', ...timeSortFields }

export interface GroupRules {
  /** Whether every signed-in identity may found an organization (decision 16). */
  readonly openOrganizations: boolean
  /** Domains of e-mail addresses, besides those of public providers, that say nothing about who somebody works for. */
  readonly blockedEmailDomains: readonly string[]
}

export function groupsService(store: Store, { openOrganizations, blockedEmailDomains }: GroupRules) {
  const { db } = store
  const KIND: ResourceDefinition<'groups', typeof GroupSchema> = {
    table: 'groups',
    schema: GroupSchema,
    type: GROUP_TYPE,
    toMessage: (row, tx) => groupMessage(db, row, tx),
  }

  return implement(GroupsService, {
    ...accessRequestHandlers(store, blockedEmailDomains),

    async listGroups(request, call) {
      const { rows, ...page } = await listPage(store, call, request, {
        table: 'groups',
        sortFields,
        defaultOrder: 'uid',
        equals: { name: request.name },
      })
      return {
        $typeName: 'chainguard.platform.iam.v2beta1.ListGroupsResponse' as const,
        groups: await groupMessages(db, rows),
        ...page,
      }
    },

    async getGroup(_request, call) {
      const { scope } = requireScope(call)
      const row = await readResource(db, 'groups', scope)
      if (row === undefined) throw notFound(GROUP_TYPE, scope)
      return groupMessage(db, row)
    },

    async createGroup({ parent, group = create(GroupSchema) }, call) {
      const parentUid = parent === '' ? undefined : await resolveParent(store, call, parent)
      if (parentUid === undefined) requireMayCreateOrganization(call, openOrganizations)
      requireOperatorForFields(call, create(GroupSchema), group, parentUid === undefined)

      return mutate(
        store,
        call,
        async (tx) => {
          // Here, since a repeat of a create that was answered must not fail on the group that it made.
          if (parentUid === 'several')
            throw invalidArgument('parent', 'is ambiguous: several groups go by it; give the uid of one')
          // Whether the parent exists is told before what is wrong with the group.
          const parentRow = parentUid === undefined ? undefined : await lockGroup(db, tx, parentUid)
          requireValid(checkName(group.name), checkDescription(group.description), checkKind(group.kind))
          const row =
            parentRow === undefined
              ? await createOrganization(store, tx, group, creatorOf(call))
              : await addGroup(store, tx, parentRow, group)
          return { uid: row.uid, response: await groupMessage(db, row, tx) }
        },
        () => nameTakenError(store, call, parentUid ?? '', group.name),
      )
    },

    async updateGroup({ group: patch = create(GroupSchema), updateMask }, call) {
      const { scope } = requireScope(call)
      let name = patch.name
      return mutate(
        store,
        call,
        async (tx) => {
          const { row, current } = await lockForChange(db, tx, call, KIND, scope)
          const requested = applyUpdate(GroupSchema, current, patch, updateMask?.paths)
          // A subgroup has no kind of its own that a mask could take away: it reports its organization's.
          const inherits = row.parent !== '' && requested.kind === OrgKind.UNSPECIFIED
          const next = inherits ? { ...requested, kind: current.kind } : requested
          if (equals(GroupSchema, current, next)) return { uid: scope, response: current, unchanged: true }
          requireValid(checkName(next.name), checkDescription(next.description), checkKind(next.kind))
          requireOperatorForFields(call, current, next, row.parent === '')
          name = next.name
          if (name !== row.name)
            await requireMayFreePath(tx, authorizationOf(call).grants, scope, 'renaming a group above')
          const changed = {
            name: next.name,
            description: next.description,
            verified: Number(next.verified),
            kind: next.kind,
            updated_ms: nextUpdateMs(store, row),
          }
          await updateResource(tx, 'groups', scope, changed)
          if (row.parent === '') await claimOrganizationName(tx, scope, name)
          if (next.kind !== row.kind)
            await updateAllGroups(tx, row.root, { kind: next.kind }, changed.updated_ms)
          return { uid: scope, response: await groupMessage(db, { ...row, ...changed }, tx) }
        },
        () => nameTakenError(store, call, parentOf(scope), name),
      )
    },

    async deleteGroup(_request, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        const { row } = await lockForChange(db, tx, call, KIND, scope)
        const remaining = await listContents(store, tx, scope)
        if (remaining.length > 0) {
          const message = `group ${scope} still contains ${remaining.join(', ')}`
          // Nobody deletes advisories by themselves.
          const hint = `; they go with their documents: berth advisories documents delete --all --parent ${scope}`
          throw failedPrecondition(
            'RESOURCE_NOT_EMPTY',
            remaining.includes(contents.advisories) ? message + hint : message,
          )
        }
        if (row.parent === '') {
          await unbindCreators(store, tx, scope)
          await tx.deleteFrom('organization_names').where('uid', '=', scope).execute()
          await tx.deleteFrom('access_requests').where('root', '=', scope).execute()
          await deleteLimits(tx, scope)
          await deleteRegistrySettings(tx, scope)
        }
        for (const uid of await expiredInvites(tx, scope)) await deleteResource(db, tx, 'group_invites', uid)
        await deleteAdvisoryDependents(tx, scope)
        await deleteResource(db, tx, 'groups', scope)
        return { uid: scope, response: create(EmptySchema) }
      })
    },
  })
}

type NewGroup = Pick<Group, 'name' | 'description' | 'verified' | 'kind'>

interface OrganizationCreator {
  /** uid. */
  readonly identity: string
  readonly acceptedThrough: RecordedProvider
}

function creatorOf(call: Call): OrganizationCreator {
  const { caller, grants } = authorizationOf(call)
  return { identity: caller.identity, acceptedThrough: recordedProviderOf(grants.voucher) }
}

/** Makes an organization, with its founder as its owner. A name that is taken is a unique violation. */
export async function createOrganization(
  store: Store,
  tx: Tx,
  group: NewGroup,
  { identity, acceptedThrough }: OrganizationCreator,
): Promise<GroupRow> {
  const row = newGroupRow(store, store.uids.root(), group)
  await insertResource(store.db, tx, 'groups', row)
  await claimOrganizationName(tx, row.uid, group.name)
  await bindCreator(store, tx, row.uid as Uid, identity, acceptedThrough)
  return row
}

/** Makes a group in one that is held. A name that is taken is a unique violation. */
export async function addGroup(store: Store, tx: Tx, parent: GroupRow, group: NewGroup): Promise<GroupRow> {
  const { kind, status } = parent
  const row = { ...newGroupRow(store, store.uids.child(parent.uid as Uid), group), kind, status }
  await insertResource(store.db, tx, 'groups', row)
  return row
}

function newGroupRow({ clock }: Store, uid: Uid, { name, description, verified, kind }: NewGroup): GroupRow {
  const now = clock()
  return {
    root: rootOf(uid),
    uid,
    parent: parentOf(uid),
    name,
    description,
    verified: Number(verified),
    kind,
    status: OrgStatus.READY,
    created_ms: now,
    updated_ms: now,
  }
}

/** Renames an organization. A name that is taken is a unique violation. */
export async function renameOrganization({ clock }: Store, tx: Tx, uid: string, name: string): Promise<void> {
  const changed = { name, updated_ms: clock() }
  await updateResource(tx, 'groups', uid, changed)
  await claimOrganizationName(tx, uid, name)
}

/** Names of organizations differ over the whole installation, which no index of a tenant's table can say. */
async function claimOrganizationName(tx: Tx, uid: string, name: string): Promise<void> {
  await tx.deleteFrom('organization_names').where('uid', '=', uid).execute()
  await tx.insertInto('organization_names').values({ name, uid }).execute()
}

/** A narrowed token founds nothing: an organization lies outside every scope, and its founder gets more than any `cap`. */
function requireMayCreateOrganization(call: Call, openOrganizations: boolean): void {
  const { caller, grants } = authorizationOf(call)
  if (isPlatformAdministrator(grants)) return
  if (!openOrganizations || isNarrowed(caller))
    throw permissionDenied('only the administrators of this platform may create organizations')
  requireUserAuthority(grants, 'create an organization')
}

/**
 * `verified` and `kind` are the operator's to set, on organizations only; so is the name of one that is verified, which stands for
 * it elsewhere. Restating what they are is fine (decision 20).
 */
function requireOperatorForFields(call: Call, current: Group, next: Group, organization: boolean): void {
  const renamed = current.verified && next.name !== current.name
  if (!renamed && next.verified === current.verified && next.kind === current.kind) return
  const field = next.verified !== current.verified ? 'verified' : renamed ? 'name' : 'kind'
  if (!isPlatformAdministrator(authorizationOf(call).grants)) {
    const of = field === 'name' ? ' of a verified organization' : ''
    throw permissionDenied(`${field}${of} can only be set by the administrators of this platform`)
  }
  if (!organization) throw invalidArgument(field, 'can only be set on an organization')
  if (next.verified && next.kind === OrgKind.UNSPECIFIED) {
    throw invalidArgument('kind', 'must be set on an organization that is verified')
  }
}

/** Enums are open: a number that stands for nothing arrives as it is. */
function checkKind(kind: OrgKind): FieldViolation | undefined {
  return OrgKind[kind] === undefined ? { field: 'kind', description: `${kind} is not a kind` } : undefined
}

async function nameTakenError({ db }: Store, call: Call, parent: string, name: string) {
  const uid =
    parent === ''
      ? await findOrganizationByName(db.kysely, name)
      : await findUid(db, 'groups', { root: rootOf(parent), parent, name })
  const resource = describeResource(call, uid, Capability.CAP_IAM_GROUPS_LIST, name)
  const where = parent === '' ? 'an organization' : `a group in ${parent}`
  return alreadyExists(GROUP_TYPE, resource, `${where} is named ${name} already`)
}

/** What keeps a group from being deleted (decision 12), in words, each with its table. */
const contents = {
  groups: 'groups',
  identities: 'identities',
  roles: 'roles',
  role_bindings: 'role bindings',
  identity_providers: 'identity providers',
  account_associations: 'an account association',
  group_invites: 'invites',
  repos: 'repos',
  advisories: 'advisories',
  advisory_feeds: 'advisory feeds',
} as const satisfies Partial<Record<ResourceTable, string>>

/** The kinds of resources that are left in a group, in words. */
async function listContents({ clock }: Store, tx: Tx, uid: string): Promise<string[]> {
  const remaining: string[] = []
  for (const [table, label] of Object.entries(contents)) {
    let query = tx
      .selectFrom(table as keyof typeof contents)
      .select('uid')
      .where('root', '=', rootOf(uid))
      // An association has the uid of its group; everything else hangs below it.
      .where(table === 'account_associations' ? 'uid' : 'parent', '=', uid)
      .limit(1)
    if (table === 'role_bindings') query = query.where('automatic' as 'uid', '=', 0 as never)
    if (table === 'group_invites') query = query.where('expires_ms' as 'uid', '>', clock() as never)
    if ((await query.execute()).length > 0) remaining.push(label)
  }
  return remaining
}

/** Invites that keep nothing from being deleted: after contentsOf, all that are left. */
async function expiredInvites(tx: Tx, group: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('group_invites')
    .select('uid')
    .where('root', '=', rootOf(group))
    .where('parent', '=', group)
    .execute()
  return rows.map(({ uid }) => uid)
}
