import {
  IdentityProviderListSchema,
  IdentityProviderSchema,
  IdentityProviders,
} from '@berth/contract/gen/chainguard/platform/iam/identity_providers_pb.js'
import {
  IdentityProvidersService,
  IdentityProviderSchema as NewIdentityProviderSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identity_providers_pb.js'
import { create } from '@bufbuild/protobuf'
import { createMapping } from '../mapping/message-mapping.ts'
import {
  fieldPathMapper,
  listAllPages,
  mapMethod,
  narrowFilter,
  noMatch,
  translateService,
} from '../mapping/translation.ts'

/** Identity providers of version 1. */

const providerMapping = createMapping(
  IdentityProviderSchema,
  NewIdentityProviderSchema,
  [['id', 'uid'], 'name', 'description', 'defaultRole', 'oidc', 'scim'],
  { jsonOnly: { createdAt: 'createTime', updatedAt: 'updateTime' } },
)

const {
  listIdentityProviders,
  createIdentityProvider,
  updateIdentityProvider,
  deleteIdentityProvider,
  generateScimToken,
  regenerateScimToken,
  revokeScimToken,
  setScimEnabled,
} = IdentityProvidersService.method

const toV1Path = fieldPathMapper(
  {
    parent: 'parentId',
    identity_provider_uid: 'identity_provider_id',
    identityProviderUid: 'identityProviderId',
  },
  providerMapping,
)
/** Requests and responses about provisioning differ in this one name. */
const renamedFields = { identityProviderId: 'identityProviderUid' }

export const identityProviders = translateService(IdentityProviders, toV1Path, {
  async list({ id, name, uidp }, ask) {
    const filter = narrowFilter(uidp, { id })
    if (filter === noMatch) return create(IdentityProviderListSchema)
    const query = { uidp: filter, name }
    return listAllPages(ask, listIdentityProviders, query, (page) =>
      create(IdentityProviderListSchema, { items: page.identityProviders.map(providerMapping.toV1) }),
    )
  },

  async create({ parentId, identityProvider: newProvider = create(IdentityProviderSchema) }, ask) {
    const request = { parent: parentId, identityProvider: providerMapping.toV2(newProvider) }
    return providerMapping.toV1(await ask(createIdentityProvider, request))
  },

  async update(request, ask) {
    const changed = {
      identityProvider: providerMapping.toV2(request),
      updateMask: { paths: [...providerMapping.paths] },
    }
    return providerMapping.toV1(await ask(updateIdentityProvider, changed))
  },

  delete: ({ id }, ask) => ask(deleteIdentityProvider, { uid: id }),

  generateScimToken: mapMethod(IdentityProviders.method.generateScimToken, generateScimToken, renamedFields),
  regenerateScimToken: mapMethod(
    IdentityProviders.method.regenerateScimToken,
    regenerateScimToken,
    renamedFields,
  ),
  revokeScimToken: mapMethod(IdentityProviders.method.revokeScimToken, revokeScimToken, renamedFields),
  setScimEnabled: mapMethod(IdentityProviders.method.setScimEnabled, setScimEnabled, renamedFields),
})
