import { create } from '@bufbuild/protobuf'
import { Identities, IdentityListSchema, IdentitySchema } from '#gen/chainguard/platform/iam/identities_pb.js'
import {
  IdentitiesService,
  IdentitySchema as NewIdentitySchema,
} from '#gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { narrowed, nothing, respelled, translation, wholeList } from './translation.ts'
import { inner, wording } from './wording.ts'

/** Identities of version 1. */

const [oldInner, newInner] = [IdentitySchema.nestedMessages, NewIdentitySchema.nestedMessages]
const named = (messages: typeof oldInner, name: string) => messages.find((message) => message.name === name)!

const staticKeys = wording(named(oldInner, 'StaticKeys'), named(newInner, 'StaticKeys'), [
  'issuer',
  'subject',
  'issuerKeys',
  ['expiration', 'expirationTime'],
  'audiences',
])

const identity = wording(IdentitySchema, NewIdentitySchema, [
  ['id', 'uid'],
  'name',
  'description',
  ['createdAt', 'createTime'],
  ['updatedAt', 'updateTime'],
  ['lastSeen', 'lastSeenTime'],
  'claimMatch',
  ['static', 'staticKeys', inner(staticKeys)],
  'servicePrincipal',
  'awsIdentity',
])

const { listIdentities, createIdentity, updateIdentity, deleteIdentity, lookupIdentity } =
  IdentitiesService.method

export const identities = translation(Identities, respelled({ parent: 'parentId' }, identity), {
  async list({ id, uidp }, ask) {
    const within = narrowed(uidp, { id })
    if (within === nothing) return create(IdentityListSchema)
    return wholeList(ask, listIdentities, { uidp: within }, (page) =>
      create(IdentityListSchema, { items: page.identities.map(identity.toOld) }),
    )
  },

  async create({ parentId, identity: made = create(IdentitySchema) }, ask) {
    return identity.toOld(await ask(createIdentity, { parent: parentId, identity: identity.toNew(made) }))
  },

  async update(request, ask) {
    const changed = { identity: identity.toNew(request), updateMask: { paths: [...identity.paths] } }
    return identity.toOld(await ask(updateIdentity, changed))
  },

  delete: ({ id }, ask) => ask(deleteIdentity, { uid: id }),

  /** Who may not read the identity learns its identifier, as from the newer method. */
  async lookup({ issuer, subject }, ask) {
    const { uid } = await ask(lookupIdentity, { issuer, subject })
    const [found] = (await ask(listIdentities, { uidp: { ids: [uid] } })).identities
    return found === undefined ? create(IdentitySchema, { id: uid }) : identity.toOld(found)
  },
})
