import { create } from '@bufbuild/protobuf'
import {
  IdentityProviderListSchema,
  IdentityProviderSchema,
  IdentityProviders,
} from '#gen/chainguard/platform/iam/identity_providers_pb.js'
import {
  IdentityProvidersService,
  IdentityProviderSchema as NewIdentityProviderSchema,
} from '#gen/chainguard/platform/iam/v2beta1/identity_providers_pb.js'
import { asked, narrowed, nothing, respelled, translation, wholeList } from './translation.ts'
import { wording } from './wording.ts'

/** Identity providers of version 1. */

const provider = wording(
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

const spelled = respelled(
  {
    parent: 'parentId',
    identity_provider_uid: 'identity_provider_id',
    identityProviderUid: 'identityProviderId',
  },
  provider,
)
/** Requests and answers about provisioning differ in this one name. */
const renamed = { identityProviderId: 'identityProviderUid' }

export const identityProviders = translation(IdentityProviders, spelled, {
  async list({ id, name, uidp }, ask) {
    const within = narrowed(uidp, { id })
    if (within === nothing) return create(IdentityProviderListSchema)
    const query = { uidp: within, name }
    return wholeList(ask, listIdentityProviders, query, (page) =>
      create(IdentityProviderListSchema, { items: page.identityProviders.map(provider.toOld) }),
    )
  },

  async create({ parentId, identityProvider: made = create(IdentityProviderSchema) }, ask) {
    const request = { parent: parentId, identityProvider: provider.toNew(made) }
    return provider.toOld(await ask(createIdentityProvider, request))
  },

  async update(request, ask) {
    const changed = { identityProvider: provider.toNew(request), updateMask: { paths: [...provider.paths] } }
    return provider.toOld(await ask(updateIdentityProvider, changed))
  },

  delete: ({ id }, ask) => ask(deleteIdentityProvider, { uid: id }),

  generateScimToken: asked(IdentityProviders.method.generateScimToken, generateScimToken, renamed),
  regenerateScimToken: asked(IdentityProviders.method.regenerateScimToken, regenerateScimToken, renamed),
  revokeScimToken: asked(IdentityProviders.method.revokeScimToken, revokeScimToken, renamed),
  setScimEnabled: asked(IdentityProviders.method.setScimEnabled, setScimEnabled, renamed),
})
