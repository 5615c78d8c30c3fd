import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import {
  type ExternalGroupRoleMapping,
  ExternalGroupRoleMappingSchema,
  ExternalGroupRoleMappingsService,
  type ListExternalGroupRoleMappingsRequest,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/external_group_role_mappings_pb.js'
import { create } from '@bufbuild/protobuf'
import { alreadyExists, type FieldViolation, invalidArgument, notFound } from '../api/errors.ts'
import { requireValid } from '../api/fields.ts'
import { timestampOf } from '../api/messages.ts'
import { parentOf, parseUid, rootOf, type Uid } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { describeResource, requireScope } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'
import { mutate } from '../storage/changes/mutation.ts'
import type { Tx } from '../storage/db.ts'
import { deleteResource, findUid, insertResource, lockResource } from '../storage/resource-rows.ts'
import { type ResourceDeclaration, resourceMethods } from '../storage/resources/resource-methods.ts'
import type { ExternalGroupRoleMappingRow, IdentityProviderRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { lockGrantableRole } from './grantable-role.ts'
import { requireCapabilitiesOfIssuerUsers } from './identity-providers/issuer-users.ts'
import { checkText } from './identity-providers/oidc-configuration.ts'
import { IDENTITY_PROVIDER_TYPE } from './identity-providers.ts'

/**
 * Mappings of external groups: members of a group that an identity provider reports get a role in the organization. A mapping never
 * changes. Callers cannot grant more than they hold there themselves.
 */

const TYPE = 'iam.chainguard.dev/ExternalGroupRoleMapping'

const mappings: ResourceDeclaration<
  'external_group_role_mappings',
  typeof ExternalGroupRoleMappingSchema,
  ListExternalGroupRoleMappingsRequest
> = {
  table: 'external_group_role_mappings',
  schema: ExternalGroupRoleMappingSchema,
  isCached: true,
  toMessages: (rows) => rows.map(toMapping),
  filter({ identityProviderUid: provider }) {
    if (provider !== '' && parseUid(provider) === undefined)
      throw invalidArgument('identity_provider_uid', 'must be a uid')
    return { equals: { parent: provider } }
  },
}

/** `ownIssuer`: address of the token service. */
export function externalGroupRoleMappingsService(store: Store, ownIssuer: string) {
  const { db, clock, uids } = store

  /** Locks the provider that mappings are created or deleted in. Throws code 5 if it does not exist. */
  const lockProvider = async (tx: Tx, uid: string): Promise<IdentityProviderRow> => {
    const row = await lockResource(db, tx, 'identity_providers', uid, 'share')
    if (row === undefined) throw notFound(IDENTITY_PROVIDER_TYPE, uid)
    return row
  }

  return implement(ExternalGroupRoleMappingsService, {
    ...resourceMethods(store, ExternalGroupRoleMappingsService, mappings),

    async createExternalGroupRoleMapping(
      { externalGroupRoleMapping: mapping = create(ExternalGroupRoleMappingSchema) },
      call,
    ) {
      const provider = requireScope(call).scope as Uid
      return mutate(
        store,
        call,
        async (tx) => {
          const { parent: organization, issuer } = await lockProvider(tx, provider)
          requireValid(...checkMapping(mapping, organization))
          await lockGrantableRole(store, tx, call, organization as Uid, mapping.roleUid)
          await requireCapabilitiesOfIssuerUsers(store, tx, call, organization as Uid, { issuer, ownIssuer })
          const now = clock()
          const row: ExternalGroupRoleMappingRow = {
            root: rootOf(provider),
            uid: uids.child(provider),
            parent: provider,
            external_group_id: mapping.externalGroupId,
            role_uid: mapping.roleUid,
            scope: mapping.scope,
            created_ms: now,
            updated_ms: now,
          }
          await insertResource(db, tx, 'external_group_role_mappings', row)
          return { uid: row.uid, response: toMapping(row) }
        },
        async () => {
          const { externalGroupId: external_group_id, roleUid: role_uid, scope } = mapping
          const row = { root: rootOf(provider), parent: provider, external_group_id, role_uid, scope }
          const uid = await findUid(db, 'external_group_role_mappings', row)
          const resource = describeResource(call, uid, Capability.CAP_IAM_IDENTITY_PROVIDERS_LIST, provider)
          return alreadyExists(TYPE, resource, `${provider} maps this group to ${role_uid} already`)
        },
      )
    },

    async batchDeleteExternalGroupRoleMappings({ names }, call) {
      const provider = requireScope(call).scope
      return mutate(store, call, async (tx) => {
        await lockProvider(tx, provider)
        requireValid(...checkNames(names, provider))
        const deleted: ExternalGroupRoleMappingRow[] = []
        // In one order everywhere, so that two batches cannot deadlock.
        for (const name of [...new Set(names)].sort()) {
          const row = await lockResource(db, tx, 'external_group_role_mappings', name, 'update')
          if (row === undefined) continue
          await deleteResource(db, tx, 'external_group_role_mappings', name)
          deleted.push(row)
        }
        return {
          uid: provider,
          unchanged: deleted.length === 0,
          response: {
            $typeName: 'chainguard.platform.iam.v2beta1.BatchDeleteExternalGroupRoleMappingsResponse',
            parent: provider,
            externalGroupRoleMappings: deleted.map(toMapping),
          },
        }
      })
    },
  })
}

function toMapping(row: ExternalGroupRoleMappingRow): ExternalGroupRoleMapping {
  return {
    $typeName: 'chainguard.platform.iam.v2beta1.ExternalGroupRoleMapping',
    uid: row.uid,
    identityProviderUid: row.parent,
    externalGroupId: row.external_group_id,
    roleUid: row.role_uid,
    scope: row.scope,
    createTime: timestampOf(row.created_ms),
  }
}

function checkMapping(
  { externalGroupId, roleUid, scope }: ExternalGroupRoleMapping,
  organization: string,
): (FieldViolation | undefined)[] {
  const given = (field: string, value: string) =>
    value === '' ? { field, description: 'is required' } : undefined
  return [
    given('externalGroupId', externalGroupId) ??
      checkText('externalGroupId', externalGroupId, limits.externalGroupIdCharsMax),
    given('roleUid', roleUid) ??
      (parseUid(roleUid) === undefined ? { field: 'roleUid', description: 'must be a uid' } : undefined),
    given('scope', scope) ??
      (scope === organization
        ? undefined
        : { field: 'scope', description: 'must be the organization of the identity provider' }),
  ]
}

function checkNames(names: readonly string[], provider: string): (FieldViolation | undefined)[] {
  const { batchDeleteNamesMax } = limits
  if (names.length === 0 || names.length > batchDeleteNamesMax)
    return [{ field: 'names', description: `must have between 1 and ${batchDeleteNamesMax} values` }]
  return names.map((name, at) =>
    parseUid(name) !== undefined && parentOf(name) === provider
      ? undefined
      : { field: `names[${at}]`, description: 'must be the uid of a mapping of this identity provider' },
  )
}
