import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import {
  type ListRoleBindingsRequest,
  type RoleBinding,
  RoleBindingSchema,
  RoleBindingsService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { create, type Message } from '@bufbuild/protobuf'
import { alreadyExists, type FieldViolation, invalidArgument, notFound } from '../api/errors.ts'
import { requireValid } from '../api/fields.ts'
import { timestampOf } from '../api/messages.ts'
import { timeSortFields } from '../api/order-by.ts'
import { depthOf, parseUid, rootOf, type Uid } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { describeResource, requireScope } from '../pipeline/authorization.ts'
import { type Call, implement } from '../pipeline/call.ts'
import type { RecordedProvider } from '../pipeline/vouching.ts'
import { mutate } from '../storage/changes/mutation.ts'
import type { Db, Tx } from '../storage/db.ts'
import type { ColumnCondition } from '../storage/list/list.ts'
import { deleteResource, findUid, insertResource, lockResource } from '../storage/resource-rows.ts'
import { type ResourceDeclaration, resourceMethods } from '../storage/resources/resource-methods.ts'
import { readReachableRows, readRowsByUid } from '../storage/rows-by-uid.ts'
import type { RoleBindingRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { lockGrantableRole } from './grantable-role.ts'
import { lockGroup } from './groups/parent-group.ts'
import { recordOrganization } from './identities/organizations.ts'
import { managedRoleByName } from './managed-roles.ts'

/**
 * Role bindings: an identity has a role in a group and in all groups below it. The group of a binding never changes. Callers cannot
 * grant more than they hold there themselves.
 */

const TYPE = 'iam.chainguard.dev/RoleBinding'

/** The identity and the role of a binding. */
type BindingKey = Pick<RoleBinding, 'identityUid' | 'roleUid'>

export function roleBindingsService(store: Store) {
  const roleBindings: ResourceDeclaration<
    'role_bindings',
    typeof RoleBindingSchema,
    ListRoleBindingsRequest
  > = {
    table: 'role_bindings',
    schema: RoleBindingSchema,
    isCached: true,
    toMessages: (rows, reader) =>
      hydrateBindings(store.db, rows, reader.isTransaction ? (reader as Tx) : undefined),
    sortFields: timeSortFields,
    filter: ({ identity, identities, group, role }) => ({
      equals: {
        identity_uid: filterUid('identity', identity),
        parent: filterUid('group', group),
        role_uid: filterUid('role', role),
      },
      conditions: identitiesCondition(identities),
    }),
    lockParent: lockGroup,
    write: {
      checks: ({ next }) => checkUids(next),
      async authorize({ tx, call, parent, next }) {
        await lockBindingTargets(store, tx, call, parent, next)
        await recordOrganization(store.db, tx, parent, [next.identityUid])
      },
      columns: ({ next: { identityUid, roleUid }, existing }) => ({
        identity_uid: identityUid,
        role_uid: roleUid,
        // A binding that was changed is deliberate: it blocks the deletion of its group.
        automatic: 0,
        // What an identity accepted does not apply to another one.
        accepted_through: identityUid === existing?.row.identity_uid ? existing.row.accepted_through : '',
      }),
      alreadyExists: (call, group, next) => findBindingExistsError(store, call, group, next),
    },
  }

  return implement(RoleBindingsService, {
    ...resourceMethods(store, RoleBindingsService, roleBindings),

    async batchCreateRoleBindings({ requests, roleUid }, call) {
      const group = requireScope(call).scope as Uid
      const bindings = requests.map((entry, at) =>
        batchEntry(entry.parent, entry.roleBinding, { group, roleUid, at }),
      )
      return createBatch(store, call, bindings, {
        max: limits.batchEntriesMax,
        toResponse: async (tx, rows) => ({
          $typeName: 'chainguard.platform.iam.v2beta1.BatchCreateRoleBindingsResponse',
          roleBindings: await hydrateBindings(store.db, rows, tx),
        }),
      })
    },
  })
}

interface Batch<T> {
  /** Number of bindings. */
  readonly max: number
  readonly toResponse: (tx: Tx, rows: readonly RoleBindingRow[]) => Promise<T>
}

/** Creates all bindings of a batch in the scope of the call, or none. */
export function createBatch<T extends Message>(
  store: Store,
  call: Call,
  bindings: readonly BindingKey[],
  { max, toResponse }: Batch<T>,
): Promise<T> {
  const { db } = store
  const group = requireScope(call).scope as Uid
  // Before the entries are checked: a request may have thousands.
  if (bindings.length > max) requireValid(checkBatchSize(bindings.length, max))
  return mutate(
    store,
    call,
    async (tx) => {
      await lockGroup(db, tx, group)
      requireValid(
        checkBatchSize(bindings.length, max),
        ...bindings.flatMap((binding, at) => checkUids(binding, `requests[${at}].roleBinding.`)),
      )
      return {
        uid: group,
        response: await toResponse(tx, await insertBindings(store, tx, call, group, bindings)),
      }
    },
    () => alreadyExists(TYPE, group, `one of these bindings exists in ${group} already`),
  )
}

/** Locks everything in one order before anything is counted, so that two batches cannot deadlock. */
async function insertBindings(store: Store, tx: Tx, call: Call, group: Uid, bindings: readonly BindingKey[]) {
  const sorted = bindings.map((binding, at) => ({
    binding,
    at,
    key: `${binding.identityUid} ${binding.roleUid}`,
  }))
  sorted.sort((one, other) => (one.key < other.key ? -1 : 1))
  const uids = bindings.map(() => store.uids.child(group)).sort()
  const rows: RoleBindingRow[] = []
  for (const { binding } of sorted) await lockBindingTargets(store, tx, call, group, binding)
  const identities = bindings.map(({ identityUid }) => identityUid)
  await recordOrganization(store.db, tx, group, identities)
  for (const [n, { binding, at }] of sorted.entries()) {
    const row = bindingRow(store, group, binding, { uid: uids[n] })
    await insertResource(store.db, tx, 'role_bindings', row)
    rows[at] = row
  }
  return rows
}

/** Locks the identity and the role of a binding, and checks that the caller may grant the role. The group is locked. */
async function lockBindingTargets(
  store: Store,
  tx: Tx,
  call: Call,
  group: Uid,
  { identityUid, roleUid }: BindingKey,
) {
  await lockIdentity(store, tx, group, identityUid)
  await lockGrantableRole(store, tx, call, group, roleUid)
}

interface BindingOptions {
  readonly uid?: string | undefined
  readonly acceptedThrough?: RecordedProvider
}

/** Binds an identity to a role in a group. All three are locked. */
export async function insertBinding(
  store: Store,
  tx: Tx,
  group: Uid,
  binding: BindingKey,
  options: BindingOptions = {},
): Promise<RoleBindingRow> {
  const row = bindingRow(store, group, binding, options)
  await recordOrganization(store.db, tx, group, [binding.identityUid])
  await insertResource(store.db, tx, 'role_bindings', row)
  return row
}

function bindingRow(
  { clock, uids }: Store,
  group: Uid,
  { identityUid, roleUid }: BindingKey,
  { uid = uids.child(group), acceptedThrough = '' }: BindingOptions,
): RoleBindingRow {
  const now = clock()
  return {
    root: rootOf(group),
    uid,
    parent: group,
    identity_uid: identityUid,
    role_uid: roleUid,
    automatic: 0,
    accepted_through: acceptedThrough,
    created_ms: now,
    updated_ms: now,
  }
}

/** Grants the creator of an organization the owner role on it. The binding is deleted with the organization. */
export async function bindCreator(
  { db, clock, uids }: Store,
  tx: Tx,
  organization: Uid,
  identity: string,
  acceptedThrough: RecordedProvider,
): Promise<void> {
  const owner = managedRoleByName.get('owner')
  if (owner === undefined) throw new Error('there is no owner role')
  const now = clock()
  const row: RoleBindingRow = {
    root: organization,
    uid: uids.child(organization),
    parent: organization,
    identity_uid: identity,
    role_uid: owner.uid,
    automatic: 1,
    accepted_through: acceptedThrough,
    created_ms: now,
    updated_ms: now,
  }
  await recordOrganization(db, tx, organization, [identity])
  await insertResource(db, tx, 'role_bindings', row, { unlimited: true })
}

/** Deletes the bindings that bindCreator created, before their organization is deleted. */
export async function unbindCreators({ db }: Store, tx: Tx, organization: string): Promise<void> {
  const rows = await tx
    .selectFrom('role_bindings')
    .select('uid')
    .where('root', '=', organization)
    .where('parent', '=', organization)
    .where('automatic', '=', 1)
    .execute()
  for (const { uid } of rows) await deleteResource(db, tx, 'role_bindings', uid)
}

/** Returns a binding without the names of what it refers to. */
export function toRoleBinding(row: RoleBindingRow): RoleBinding {
  return {
    $typeName: 'chainguard.platform.iam.v2beta1.RoleBinding',
    uid: row.uid,
    createTime: timestampOf(row.created_ms),
    identityUid: row.identity_uid,
    roleUid: row.role_uid,
  }
}

/**
 * Returns bindings with the names of what they refer to: four statements, whatever their number. Outside of transactions, details of users on
 * a lost server of a distributed database are marked as unavailable.
 */
export async function hydrateBindings(
  db: Db,
  rows: readonly RoleBindingRow[],
  tx?: Tx,
): Promise<RoleBinding[]> {
  const reader = tx ?? db.kysely
  const [{ rows: identities, isUnread }, groups, roles, providers] = await Promise.all([
    readReachableRows(
      db,
      'identities',
      ['name', 'description', 'subject', 'issuer', 'email'],
      rows.map((row) => row.identity_uid),
      tx,
    ),
    readRowsByUid(
      reader,
      'groups',
      ['name', 'description'],
      rows.map((row) => row.parent),
    ),
    readRowsByUid(
      reader,
      'roles',
      ['name', 'description'],
      rows.map((row) => row.role_uid),
    ),
    readRowsByUid(
      reader,
      'identity_providers',
      ['name', 'issuer'],
      rows.map((row) => row.accepted_through).filter((uid) => uid !== ''),
    ),
  ])
  return rows.map((row) => {
    const identity = identities.get(row.identity_uid)
    const group = groups.get(row.parent)
    const role = roles.get(row.role_uid)
    return {
      ...toRoleBinding(row),
      identity: {
        $typeName: 'chainguard.platform.iam.v2beta1.RoleBindingIdentity',
        uid: row.identity_uid,
        name: identity?.name ?? '',
        description: identity?.description ?? '',
        subject: identity?.subject ?? '',
        issuer: identity?.issuer ?? '',
        email: identity?.email ?? '',
        ...(isUnread(row.identity_uid) && { detailsUnavailable: true }),
      },
      group: {
        $typeName: 'chainguard.platform.iam.v2beta1.RoleBindingGroup',
        uid: row.parent,
        name: group?.name ?? '',
        description: group?.description ?? '',
      },
      role: {
        $typeName: 'chainguard.platform.iam.v2beta1.RoleBindingRole',
        uid: row.role_uid,
        name: role?.name ?? '',
        description: role?.description ?? '',
      },
      ...acceptedThrough(row, providers),
    }
  })
}

function acceptedThrough(
  { accepted_through: uid }: RoleBindingRow,
  providers: ReadonlyMap<string, { readonly name: string; readonly issuer: string }>,
): Pick<RoleBinding, 'acceptedThrough'> {
  if (uid === '') return {}
  const { name = '', issuer = '' } = providers.get(uid) ?? {}
  const $typeName = 'chainguard.platform.iam.v2beta1.RoleBindingProvider'
  return { acceptedThrough: { $typeName, uid, name, issuer } }
}

export function requireBinding(bindings: readonly RoleBinding[], uid: string): RoleBinding {
  const [binding] = bindings
  if (binding === undefined) throw notFound(TYPE, uid)
  return binding
}

function identitiesCondition(identities: readonly string[]): ColumnCondition[] {
  if (identities.length === 0) return []
  if (identities.length > limits.pageSizeMax)
    throw invalidArgument('identities', `must have at most ${limits.pageSizeMax} values`)
  return [
    {
      column: 'identity_uid',
      values: identities.map((uid, at) => {
        if (parseUid(uid) === undefined) throw invalidArgument(`identities[${at}]`, 'must be a uid')
        return uid
      }),
    },
  ]
}

function filterUid(field: string, text: string): string {
  if (text !== '' && parseUid(text) === undefined) throw invalidArgument(field, 'must be a uid')
  return text
}

function checkUids({ identityUid, roleUid }: BindingKey, prefix = ''): (FieldViolation | undefined)[] {
  const check = (field: string, uid: string): FieldViolation | undefined => {
    if (uid === '') return { field: prefix + field, description: 'is required' }
    return parseUid(uid) === undefined ? { field: prefix + field, description: 'must be a uid' } : undefined
  }
  return [check('identityUid', identityUid), check('roleUid', roleUid)]
}

function checkBatchSize(size: number, max: number): FieldViolation | undefined {
  if (size > 0 && size <= max) return undefined
  return { field: 'requests', description: `must have between 1 and ${max} entries` }
}

/** Returns an entry of a batch with the role of the batch filled in. An entry must not name another group or role. */
function batchEntry(
  parent: string,
  binding: RoleBinding = create(RoleBindingSchema),
  { group, roleUid, at }: { readonly group: string; readonly roleUid: string; readonly at: number },
): RoleBinding {
  if (parent !== '' && parent !== group) {
    throw invalidArgument(`requests[${at}].parent`, 'must be the parent of the whole batch, or absent')
  }
  if (roleUid !== '' && binding.roleUid !== '' && binding.roleUid !== roleUid) {
    throw invalidArgument(
      `requests[${at}].roleBinding.roleUid`,
      'must be the role of the whole batch, or absent',
    )
  }
  return { ...binding, roleUid: binding.roleUid === '' ? roleUid : binding.roleUid }
}

/** Whether an identity can have a role in a group: it belongs to the same organization, or to a user. */
export function isBindable(identity: string, group: string): boolean {
  return rootOf(identity) === rootOf(group) || depthOf(identity) === 0
}

/**
 * Locks the identity of a binding, so that it is not deleted meanwhile. Throws code 5 if it does not exist, also for an identity of
 * another organization. Users must have signed in once: until then their identity does not exist.
 */
async function lockIdentity({ db }: Store, tx: Tx, group: Uid, uid: string): Promise<void> {
  const row = isBindable(uid, group) ? await lockResource(db, tx, 'identities', uid, 'share') : undefined
  if (row === undefined) throw notFound('iam.chainguard.dev/Identity', uid)
}

async function findBindingExistsError({ db }: Store, call: Call, group: string, bound: BindingKey) {
  const { identityUid: identity_uid, roleUid: role_uid } = bound
  const row = { root: rootOf(group), parent: group, identity_uid, role_uid }
  const uid = await findUid(db, 'role_bindings', row)
  return bindingExistsError(
    group,
    bound,
    describeResource(call, uid, Capability.CAP_IAM_ROLE_BINDINGS_LIST, group),
  )
}

/** `resource`: the existing binding, as the error names it. */
export function bindingExistsError(group: string, { identityUid, roleUid }: BindingKey, resource = group) {
  return alreadyExists(TYPE, resource, `${identityUid} has the role ${roleUid} in ${group} already`)
}
