import { everyCapability } from '@berth/contract/capabilities.ts'
import {
  IdentitiesService,
  type Identity,
  IdentitySchema,
  type ListIdentitiesRequest,
  RelationshipType,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import { create, equals, toBinary } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { failedPrecondition, invalidArgument } from '../api/errors.ts'
import { checkDescription, checkLine, checkName } from '../api/fields.ts'
import { timestampOf } from '../api/messages.ts'
import { authorizationOf, requireCapabilities } from '../pipeline/authorization.ts'
import { type Call, implement } from '../pipeline/call.ts'
import type { Db, Tx } from '../storage/db.ts'
import type { ColumnCondition } from '../storage/list/list.ts'
import { startsWith } from '../storage/list/prefix-condition.ts'
import { deleteResource, lockResource } from '../storage/resource-rows.ts'
import {
  type PendingChange,
  type ResourceDeclaration,
  resourceMethods,
} from '../storage/resources/resource-methods.ts'
import type { IdentityRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import {
  checkRelationship,
  type RelationshipRules,
  relationshipOf,
  relationshipWarnings,
  staticKeysExpireMs,
} from '../tokens/trust/relationship.ts'
import { requireNotServiceBound } from './account-associations.ts'
import { lockGroup } from './groups/parent-group.ts'
import type { LastSeen } from './identities/last-seen.ts'
import { deleteMetadata, updateMetadata } from './identities/metadata.ts'
import { bindingsOf, deleteIdentityOrganizations } from './identities/organizations.ts'
import { lookupUser } from './identities/user-lookup.ts'
import { deleteSignInData } from './identities/users.ts'
import { capabilitiesOfRole } from './roles.ts'

/**
 * Identities: who can act. The relationship of an identity says which foreign tokens may assume it. The token service reads the stored
 * identity at every exchange, so changing or deleting an identity takes effect immediately.
 */

export function identitiesService(store: Store, lastSeen: LastSeen, rules: RelationshipRules) {
  const { db } = store
  const identities: ResourceDeclaration<'identities', typeof IdentitySchema, ListIdentitiesRequest> = {
    table: 'identities',
    schema: IdentitySchema,
    toMessages: (rows) => rows.map((row) => toIdentity(row, lastSeen.latest(row))),
    sortFields: { expiration_time: 'keys_expire_ms' },
    filter({ name, namePrefix, issuer, relationshipType, expiresAfter, expiresBefore }) {
      if (RelationshipType[relationshipType] === undefined)
        throw invalidArgument('relationship_type', `${relationshipType} is not a relationship`)
      return {
        equals: { name, issuer, relationship: relationshipType || undefined },
        conditions: [...startsWith('name', namePrefix), ...expiryConditions(expiresAfter, expiresBefore)],
      }
    },
    lockParent: lockGroup,
    write: {
      checks: (change) => {
        const { next, nowMs, existing } = change
        const times = { createdMs: existing?.row.created_ms ?? nowMs, nowMs }
        return [
          checkName(next.name),
          checkDescription(next.description),
          checkLine(next.company, 'company'),
          ...(isReassigned(change) ? checkRelationship(next, rules, times) : []),
        ]
      },
      async authorize(change) {
        const { tx, call, existing } = change
        if (existing === undefined || !isReassigned(change)) return
        const { uid } = existing.row
        await requireCapabilitiesOfIdentity(store, tx, call, uid)
        // An account association refers to the identity of a service, which it would no longer be.
        if (existing.current.relationship.case === 'servicePrincipal') await requireNotServiceBound(tx, uid)
      },
      warnings: relationshipWarnings,
      columns: (change) => {
        const { next, nowMs, existing } = change
        return {
          name: next.name,
          description: next.description,
          company: next.company,
          // The identity of a user has an issuer and a subject without a relationship: an update keeps them.
          ...(isReassigned(change) && relationshipColumns(next, existing?.row.created_ms ?? nowMs)),
          ...(existing === undefined && {
            email: '',
            email_unverified: '',
            registered_through: '',
            last_seen_ms: nowMs,
          }),
        }
      },
    },
    async beforeDelete(tx, { uid }) {
      const query = await bindingsOf(db, tx, uid)
      const bound = await query.select('uid').limit(1).execute()
      if (bound.length > 0)
        throw failedPrecondition('RESOURCE_IN_USE', `identity ${uid} is used by role bindings`)
      await requireNotServiceBound(tx, uid)
      await deleteIdentityData(tx, uid)
    },
  }

  return implement(IdentitiesService, {
    ...resourceMethods(store, IdentitiesService, identities),

    async lookupIdentity({ issuer, subject }) {
      return {
        $typeName: 'chainguard.platform.iam.v2beta1.LookupIdentityResponse' as const,
        uid: await lookupUser(db.kysely, issuer, subject),
      }
    },

    updateIdentityMetadata: (request, call) => updateMetadata(store, call, request),
  })
}

/** Whether a change sets who may assume the identity. */
function isReassigned({ next, existing }: PendingChange<'identities', typeof IdentitySchema>): boolean {
  if (existing === undefined) return true
  const { relationship } = next
  return !equals(IdentitySchema, existing.current, { ...existing.current, relationship })
}

/**
 * Deletes an identity that is locked and has no role bindings, with everything that is stored about it. Throws code 9, type
 * `RESOURCE_IN_USE`, for an administrator of the platform: no one else could administer it.
 */
export async function removeIdentity(db: Db, tx: Tx, uid: string): Promise<void> {
  await deleteIdentityData(tx, uid)
  await deleteResource(db, tx, 'identities', uid)
}

async function deleteIdentityData(tx: Tx, uid: string): Promise<void> {
  if (await administersPlatform(tx, uid))
    throw failedPrecondition('RESOURCE_IN_USE', `identity ${uid} administers this platform`)
  await deleteMetadata(tx, uid)
  await deleteIdentityOrganizations(tx, uid)
  await deleteSignInData(tx, uid)
}

/**
 * Deciding who may assume an identity grants what the identity holds, so the caller must hold all of that (R19). The identity is
 * locked; creating a binding locks it too, so no binding is added meanwhile.
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
  const query = await bindingsOf(db, tx, identity)
  const bindings = await query.select(['parent', 'role_uid']).execute()
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

function toIdentity(row: IdentityRow, lastSeenMs: number): Identity {
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

/** Conditions on the time when static keys expire, which only identities with static keys meet. */
function expiryConditions(after: Timestamp | undefined, before: Timestamp | undefined): ColumnCondition[] {
  if (after === undefined && before === undefined) return []
  const value = Math.max(after === undefined ? 0 : timestampMs(after), 1)
  return [
    { column: 'keys_expire_ms', comparison: '>=', value },
    ...(before === undefined
      ? []
      : [{ column: 'keys_expire_ms', comparison: '<' as const, value: timestampMs(before) }]),
  ]
}

function relationshipColumns({ relationship }: Identity, createdMs: number) {
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
    keys_expire_ms:
      relationship.case === 'staticKeys' ? staticKeysExpireMs(relationship.value, createdMs) : 0,
  }
}
