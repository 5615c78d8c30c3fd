import {
  Identities,
  IdentityListSchema,
  IdentitySchema,
} from '@berth/contract/gen/chainguard/platform/iam/identities_pb.js'
import {
  IdentitiesService,
  type Identity as NewIdentity,
  IdentitySchema as NewIdentitySchema,
  RelationshipType,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { create } from '@bufbuild/protobuf'
import { notFound } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { limits } from '../../config/limits.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'
import { createMapping, nestedMessage } from '../mapping/message-mapping.ts'
import {
  fieldPathMapper,
  listAllPages,
  narrowFilter,
  noMatch,
  translateService,
} from '../mapping/translation.ts'

/** Identities of version 1. */

const [oldInner, newInner] = [IdentitySchema.nestedMessages, NewIdentitySchema.nestedMessages]
const messageNamed = (messages: typeof oldInner, name: string) =>
  messages.find((message) => message.name === name)!

const staticKeysMapping = createMapping(
  messageNamed(oldInner, 'StaticKeys'),
  messageNamed(newInner, 'StaticKeys'),
  ['issuer', 'subject', 'issuerKeys', ['expiration', 'expirationTime'], 'audiences'],
)

const identityMapping = createMapping(IdentitySchema, NewIdentitySchema, [
  ['id', 'uid'],
  'name',
  'description',
  ['createdAt', 'createTime'],
  ['updatedAt', 'updateTime'],
  ['lastSeen', 'lastSeenTime'],
  'claimMatch',
  ['static', 'staticKeys', nestedMessage(staticKeysMapping)],
  'servicePrincipal',
  'awsIdentity',
])

const { listIdentities, createIdentity, updateIdentity, deleteIdentity, lookupIdentity } =
  IdentitiesService.method

const toV1Path = fieldPathMapper({ parent: 'parentId' }, identityMapping)

export const identities = (store: Pick<Store, 'db' | 'clock'>) =>
  translateService(Identities, toV1Path, {
    async list({ id, uidp }, ask) {
      const filter = narrowFilter(uidp, { id })
      if (filter === noMatch) return create(IdentityListSchema)
      return listAllPages(ask, listIdentities, { uidp: filter }, (page) =>
        create(IdentityListSchema, { items: page.identities.map(identityMapping.toV1) }),
      )
    },

    async create({ parentId, identity: made = create(IdentitySchema) }, ask) {
      const { relationship } = made
      if (relationship.case === 'static')
        relationship.value.expiration ??= timestampOf(store.clock() + limits.v1StaticKeyLifetimeMs)
      return identityMapping.toV1(
        await ask(createIdentity, { parent: parentId, identity: identityMapping.toV2(made) }),
      )
    },

    async update(request, ask) {
      const changed = {
        identity: identityMapping.toV2(request),
        updateMask: { paths: [...identityMapping.paths] },
      }
      return identityMapping.toV1(await ask(updateIdentity, changed))
    },

    delete: ({ id }, ask) => ask(deleteIdentity, { uid: id }),

    /** A user, otherwise the identity that tokens with this issuer and subject assume by an exact condition. */
    async lookup({ issuer, subject }, ask) {
      const { uid } = await ask(lookupIdentity, { issuer, subject })
      const [person] = (await ask(listIdentities, { uidp: { ids: [uid] } })).identities
      if (person !== undefined) return identityMapping.toV1(person)
      // The newer method returns the uid of a user to every caller, also before the user's first sign-in.
      if ((await readResource(store.db, 'identities', uid)) !== undefined)
        return create(IdentitySchema, { id: uid })
      for (const relationshipType of [RelationshipType.CLAIM_MATCH, RelationshipType.STATIC]) {
        let pageToken = ''
        do {
          const listRequest = { relationshipType, orderBy: 'uid', pageSize: limits.pageSizeMax, pageToken }
          const { identities, nextPageToken } = await ask(listIdentities, listRequest)
          const found = identities.find((one) => isAssumedBy(one, issuer, subject))
          if (found !== undefined) return identityMapping.toV1(found)
          pageToken = nextPageToken
        } while (pageToken !== '')
      }
      throw notFound('iam.chainguard.dev/Identity', uid, 'no identity has this issuer and subject')
    },
  })

function isAssumedBy({ relationship }: NewIdentity, issuer: string, subject: string): boolean {
  const { case: kind, value } = relationship
  if (kind === 'claimMatch')
    return (
      value.iss.value === issuer &&
      value.iss.case === 'issuer' &&
      value.sub.value === subject &&
      value.sub.case === 'subject'
    )
  return kind === 'staticKeys' && value.issuer === issuer && value.subject === subject
}
