import { everyCapability } from '@berth/contract/capabilities.ts'
import {
  IdentitiesService,
  type Identity,
  IdentitySchema,
  RelationshipType,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { create, equals, toBinary } from '@bufbuild/protobuf'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
import { failedPrecondition, invalidArgument, notFound } from '../api/errors.ts'
import { checkDescription, checkName, requireValid } from '../api/fields.ts'
import { applyUpdate, timestampOf } from '../api/messages.ts'
import { timeSortFields } from '../api/order-by.ts'
import { rootOf, type Uid } from '../api/uid.ts'
import { authorizationOf, requireCapabilities, requireScope } from '../pipeline/authorization.ts'
import { type Call, implement } from '../pipeline/call.ts'
import { mutate } from '../storage/changes/mutation.ts'
import type { Db, Tx } from '../storage/db.ts'
import { listPage } from '../storage/list/list.ts'
import {
  deleteResource,
  insertResource,
  lockForChange,
  lockResource,
  nextUpdateMs,
  type ResourceDefinition,
  readResource,
  updateResource,
} from '../storage/resource-rows.ts'
import type { IdentityRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { checkRelationship, type RelationshipRules, relationshipOf } from '../tokens/trust/relationship.ts'
import { requireNotServiceBound } from './account-associations.ts'
import { lockGroup } from './groups/parent-group.ts'
import type { LastSeen } from './identities/last-seen.ts'
import { deleteMetadata, updateMetadata } from './identities/metadata.ts'
import { lookupUser } from './identities/user-lookup.ts'
import { deleteSignInData } from './identities/users.ts'
import { capabilitiesOfRole } from './roles.ts'

/**
 * Identities: who can act. Each says in its relationship which foreign tokens may assume it; the token service asks that of the
 * stored identity at every exchange, so changing or deleting one works at once.
 */

const TYPE = 'iam.chainguard.dev/Identity'

export function identitiesService(store: Store, lastSeen: LastSeen, rules: RelationshipRules) {
  const { db, clock, uids } = store
  const toIdentity = (row: IdentityRow) => identityMessage(row, lastSeen.latest(row))
  const kind: ResourceDefinition<'identities', typeof IdentitySchema> = {
    table: 'identities',
    schema: IdentitySchema,
    type: TYPE,
    toMessage: toIdentity,
  }

  return implement(IdentitiesService, {
    async listIdentities(request, call) {
      if (RelationshipType[request.relationshipType] === undefined)
        throw invalidArgument('relationship_type', `${request.relationshipType} is not a relationship`)
      const { rows, ...page } = await listPage(store, call, request, {
        table: 'identities',
        sortFields: { uid: 'uid', name: 'name', ...timeSortFields },
        defaultOrder: 'uid',
        equals: { name: request.name, relationship: request.relationshipType || undefined },
      })
      return {
        $typeName: 'chainguard.platform.iam.v2beta1.ListIdentitiesResponse' as const,
        identities: rows.map(toIdentity),
        ...page,
      }
    },

    async getIdentity(_request, call) {
      const { scope } = requireScope(call)
      const row = await readResource(db, 'identities', scope)
      if (row === undefined) throw notFound(TYPE, scope)
      return toIdentity(row)
    },

    async createIdentity({ identity = create(IdentitySchema) }, call) {
      const group = requireScope(call).scope as Uid
      return mutate(store, call, async (tx) => {
        await lockGroup(db, tx, group)
        const now = clock()
        requireValid(
          checkName(identity.name),
          checkDescription(identity.description),
          checkDescription(identity.company, 'company'),
          ...checkRelationship(identity, rules, { createdMs: now, nowMs: now }),
        )
        const row: IdentityRow = {
          root: rootOf(group),
          uid: uids.child(group),
          parent: group,
          name: identity.name,
          description: identity.description,
          company: identity.company,
          email: '',
          email_unverified: '',
          ...relationshipColumns(identity),
          registered_through: '',
          last_seen_ms: now,
          created_ms: now,
          updated_ms: now,
        }
        await insertResource(db, tx, 'identities', row)
        return { uid: row.uid, response: toIdentity(row) }
      })
    },

    async updateIdentity({ identity: patch = create(IdentitySchema), updateMask }, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        const { row, current } = await lockForChange(db, tx, call, kind, scope)
        const next = applyUpdate(IdentitySchema, current, patch, updateMask?.paths)
        if (equals(IdentitySchema, current, next)) return { uid: scope, response: current, unchanged: true }
        const { relationship } = next
        const reassigned = !equals(IdentitySchema, current, { ...current, relationship })
        const times = { createdMs: row.created_ms, nowMs: clock() }
        requireValid(
          checkName(next.name),
          checkDescription(next.description),
          checkDescription(next.company, 'company'),
          ...(reassigned ? checkRelationship(next, rules, times) : []),
        )
        if (reassigned) {
          await requireCapabilitiesOfIdentity(store, tx, call, scope)
          // An association names it as the service that it would no longer be.
          if (current.relationship.case === 'servicePrincipal') await requireNotServiceBound(tx, scope)
        }
        const changed = {
          name: next.name,
          description: next.description,
          company: next.company,
          // Left as it is otherwise: the identity of a person keeps its issuer and subject without a relationship.
          ...(reassigned ? relationshipColumns(next) : {}),
          updated_ms: nextUpdateMs(store, row),
        }
        await updateResource(tx, 'identities', scope, changed)
        return { uid: scope, response: toIdentity({ ...row, ...changed }) }
      })
    },

    async deleteIdentity(_request, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        await lockForChange(db, tx, call, kind, scope)
        const bound = await tx
          .selectFrom('role_bindings')
          .select('uid')
          .where('identity_uid', '=', scope)
          .limit(1)
          .execute()
        if (bound.length > 0) {
          throw failedPrecondition('RESOURCE_IN_USE', `identity ${scope} is used by role bindings`)
        }
        await requireNotServiceBound(tx, scope)
        await removeIdentity(db, tx, scope)
        return { uid: scope, response: create(EmptySchema) }
      })
    },

    async lookupIdentity({ issuer, subject }) {
      return {
        $typeName: 'chainguard.platform.iam.v2beta1.LookupIdentityResponse' as const,
        uid: await lookupUser(db.kysely, issuer, subject),
      }
    },

    updateIdentityMetadata: (request, call) => updateMetadata(store, call, request),
  })
}

/**
 * Deletes an identity that is held and has no role bindings, with all that is known of it. Throws code 9, type `RESOURCE_IN_USE`,
 * for one that administers the platform: nobody else could.
 */
export async function removeIdentity(db: Db, tx: Tx, uid: string): Promise<void> {
  if (await administersPlatform(tx, uid))
    throw failedPrecondition('RESOURCE_IN_USE', `identity ${uid} administers this platform`)
  await deleteMetadata(tx, uid)
  await tx.deleteFrom('access_requests').where('identity_uid', '=', uid).execute()
  await deleteSignInData(tx, uid)
  await deleteResource(db, tx, 'identities', uid)
}

/**
 * Whoever decides who may assume an identity decides who gets what it holds, so that counts as granting it (R19). The identity
 * is locked, and binding it locks it too, so nothing is added meanwhile.
 */
async function requireCapabilitiesOfIdentity(
  { db }: Store,
  tx: Tx,
  call: Call,
  identity: string,
): Promise<void> {
  const { grants } = authorizationOf(call)
  const to = 'change who may assume this identity'
  if (await administersPlatform(tx, identity)) requireCapabilities(grants, '', everyCapability, to)
  const bindings = await tx
    .selectFrom('role_bindings')
    .select(['parent', 'role_uid'])
    .where('identity_uid', '=', identity)
    .execute()
  for (const { parent, role_uid } of bindings) {
    const role = await lockResource(db, tx, 'roles', role_uid, 'share')
    if (role !== undefined) requireCapabilities(grants, parent, capabilitiesOfRole(role), to)
  }
}

async function administersPlatform(tx: Tx, identity: string): Promise<boolean> {
  const rows = await tx
    .selectFrom('platform_bindings')
    .select('role_uid')
    .where('identity_uid', '=', identity)
    .limit(1)
    .execute()
  return rows.length > 0
}

function identityMessage(row: IdentityRow, lastSeenMs: number): Identity {
  return {
    $typeName: 'chainguard.platform.iam.v2beta1.Identity',
    uid: row.uid,
    name: row.name,
    description: row.description,
    email: row.email,
    emailUnverified: row.email_unverified,
    company: row.company,
    lastSeenTime: timestampOf(lastSeenMs),
    createTime: timestampOf(row.created_ms),
    updateTime: timestampOf(row.updated_ms),
    relationship: relationshipOf(row.relationship_data),
  }
}

const relationshipTypes = {
  claimMatch: RelationshipType.CLAIM_MATCH,
  staticKeys: RelationshipType.STATIC,
  awsIdentity: RelationshipType.AWS_IDENTITY,
  servicePrincipal: RelationshipType.SERVICE_PRINCIPAL,
} as const

function relationshipColumns({ relationship }: Identity) {
  const exact = { issuer: '', subject: '' }
  if (relationship.case === 'claimMatch') {
    const { iss, sub } = relationship.value
    if (iss.case === 'issuer') exact.issuer = iss.value
    if (sub.case === 'subject') exact.subject = sub.value
  }
  if (relationship.case === 'staticKeys') {
    exact.issuer = relationship.value.issuer
    exact.subject = relationship.value.subject
  }
  return {
    relationship:
      relationship.case === undefined ? RelationshipType.UNSPECIFIED : relationshipTypes[relationship.case],
    relationship_data: toBinary(IdentitySchema, create(IdentitySchema, { relationship })),
    ...exact,
  }
}
