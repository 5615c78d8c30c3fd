import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import {
  type Group,
  GroupSchema,
  GroupsService,
  OrgKind,
  OrgStatus,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { create, equals } from '@bufbuild/protobuf'
import {
  alreadyExists,
  type FieldViolation,
  failedPrecondition,
  invalidArgument,
  permissionDenied,
} from '../api/errors.ts'
import { checkDescription, checkName, requireValid } from '../api/fields.ts'
import { applyUpdate } from '../api/messages.ts'
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
import { mutate } from '../storage/changes/mutation.ts'
import { deleteLimits } from '../storage/counts/resource-limits.ts'
import type { Tx } from '../storage/db.ts'
import type { ListRequest } from '../storage/list/list.ts'
import { findOrganizationByName } from '../storage/organizations.ts'
import {
  deleteResource,
  findUid,
  insertResource,
  lockForChange,
  nextUpdateMs,
  updateResource,
} from '../storage/resource-rows.ts'
import {
  definitionOf,
  type ResourceDeclaration,
  resourceMethods,
} from '../storage/resources/resource-methods.ts'
import type { GroupRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { accessRequestHandlers } from './groups/access-requests.ts'
import {
  contentsMessage,
  findContents,
  findExpiredInvites,
  type GroupDependents,
} from './groups/dependents.ts'
import { type GroupColumn, groupColumns, groupMessage, groupMessages } from './groups/group-message.ts'
import { updateAllGroups } from './groups/organization.ts'
import { GROUP_TYPE, lockGroup } from './groups/parent-group.ts'
import { resolveParent } from './groups/parent-reference.ts'
import { bindCreator, unbindCreators } from './role-bindings.ts'

/**
 * Groups: the tree that contains all other resources. A root group is an organization; what is granted at a group applies in everything
 * below it. Siblings have different names, and only an empty group can be deleted.
 */

export interface GroupRules {
  /** Whether every signed-in identity may create an organization (decision 16). */
  readonly openOrganizations: boolean
  /** Domains of email addresses that do not identify an employer, besides those of public providers. */
  readonly blockedEmailDomains: readonly string[]
  readonly dependents: readonly GroupDependents[]
}

export function groupsService(
  store: Store,
  { openOrganizations, blockedEmailDomains, dependents }: GroupRules,
) {
  const { db } = store
  const groups: ResourceDeclaration<'groups', typeof GroupSchema, ListRequest, GroupColumn> = {
    table: 'groups',
    schema: GroupSchema,
    columns: groupColumns,
    isCached: true,
    toMessages: (rows, reader) => groupMessages(db, rows, reader.isTransaction ? (reader as Tx) : undefined),
    async beforeDelete(tx, { uid, parent }) {
      const contents = await findContents(tx, uid, store.clock())
      if (contents.length > 0)
        throw failedPrecondition('RESOURCE_NOT_EMPTY', contentsMessage(uid, contents, dependents))
      if (parent === '') {
        await unbindCreators(store, tx, uid)
        await tx.deleteFrom('organization_names').where('uid', '=', uid).execute()
        await tx.deleteFrom('access_requests').where('root', '=', uid).execute()
        await deleteLimits(tx, uid)
      }
      for (const invite of await findExpiredInvites(tx, uid))
        await deleteResource(db, tx, 'group_invites', invite)
      for (const domain of dependents) await domain.deleteGroupData(tx, uid)
    },
  }

  return implement(GroupsService, {
    ...resourceMethods(store, GroupsService, groups),
    ...accessRequestHandlers(store, blockedEmailDomains),

    async createGroup({ parent, group = create(GroupSchema) }, call) {
      const parentUid = parent === '' ? undefined : await resolveParent(store, call, parent)
      if (parentUid === undefined) requireMayCreateOrganization(call, openOrganizations)
      requireOperatorForFields(call, create(GroupSchema), group, parentUid === undefined)

      return mutate(
        store,
        call,
        async (tx) => {
          // In the transaction, because a repeated create must not fail on the group that it created.
          if (parentUid === 'several')
            throw invalidArgument(
              'parent',
              'is ambiguous: several groups have this name; give the uid of one',
            )
          // A missing parent is reported before violations in the group.
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
          const { row, current } = await lockForChange(db, tx, call, definitionOf(groups), scope)
          const requested = applyUpdate(GroupSchema, current, patch, updateMask?.paths)
          // A subgroup has no kind of its own that a mask could clear: it reports the kind of its organization.
          const inherits = row.parent !== '' && requested.kind === OrgKind.UNSPECIFIED
          const next = inherits ? { ...requested, kind: current.kind } : requested
          if (equals(GroupSchema, current, next)) return { uid: scope, response: current, unchanged: true }
          requireValid(checkName(next.name), checkDescription(next.description), checkKind(next.kind))
          requireOperatorForFields(call, current, next, row.parent === '')
          name = next.name
          if (name !== row.name)
            for (const { requireMayRename } of dependents)
              await requireMayRename?.(tx, authorizationOf(call).grants, scope)
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

/** Creates an organization, with its creator as its owner. A name that is taken is a unique violation. */
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

/** Creates a group in a group that is locked. A name that is taken is a unique violation. */
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

/** Names of organizations are unique in the whole installation, which no index of a tenant table can enforce. */
async function claimOrganizationName(tx: Tx, uid: string, name: string): Promise<void> {
  await tx.deleteFrom('organization_names').where('uid', '=', uid).execute()
  await tx.insertInto('organization_names').values({ name, uid }).execute()
}

/** A narrowed token cannot create an organization: it is outside every scope, and its creator gets more than any `cap`. */
function requireMayCreateOrganization(call: Call, openOrganizations: boolean): void {
  const { caller, grants } = authorizationOf(call)
  if (isPlatformAdministrator(grants)) return
  if (!openOrganizations || isNarrowed(caller))
    throw permissionDenied('only the administrators of this platform may create organizations')
  requireUserAuthority(grants, 'create an organization')
}

/**
 * Only the operator can set `verified` and `kind`, on organizations, and the name of a verified organization, which identifies it
 * elsewhere. Unchanged values are accepted (decision 20).
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

/** Enums are open: a number without a name arrives unchanged. */
function checkKind(kind: OrgKind): FieldViolation | undefined {
  return OrgKind[kind] === undefined ? { field: 'kind', description: `${kind} is not a kind` } : undefined
}

async function nameTakenError({ db }: Store, call: Call, parent: string, name: string) {
  const uid =
    parent === ''
      ? await findOrganizationByName(db.kysely, name)
      : await findUid(db, 'groups', { root: rootOf(parent), parent, name })
  const resource = describeResource(call, uid, Capability.CAP_IAM_GROUPS_LIST, name)
  const description =
    parent === ''
      ? `an organization is named ${name} already, and names of organizations are unique on a server. Choose another name`
      : `a group in ${parent} is named ${name} already. Names of groups are parts of paths, such as repository names, so the groups of one parent have different names. Choose another name`
  return alreadyExists(GROUP_TYPE, resource, description)
}
