import {
  AccountAssociationsListSchema,
  AccountAssociationsSchema,
  GroupAccountAssociations,
} from '@berth/contract/gen/chainguard/platform/iam/account_associations_pb.js'
import {
  AccountAssociationSchema,
  AccountAssociationsService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'
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

/** Account associations of version 1, which are identified by their group. */

const mapping = createMapping(
  AccountAssociationsSchema,
  AccountAssociationSchema,
  [['group', 'uid'], 'amazon', 'google', 'name', 'description', 'chainguard', 'azure', 'github'],
  { jsonOnly: { id: 'uid', createdAt: 'createTime', updatedAt: 'updateTime' } },
)

const {
  listAccountAssociations,
  createAccountAssociation,
  updateAccountAssociation,
  deleteAccountAssociation,
  checkAccountAssociation,
} = AccountAssociationsService.method

const toV1Path = fieldPathMapper({ parent: 'group', providerType: 'accountType' }, mapping)

export const accountAssociations = translateService(GroupAccountAssociations, toV1Path, {
  async list({ group, name }, ask) {
    const filter = narrowFilter(undefined, { id: group })
    if (filter === noMatch) return create(AccountAssociationsListSchema)
    const query = { uidp: filter, name }
    return listAllPages(ask, listAccountAssociations, query, (page) =>
      create(AccountAssociationsListSchema, { items: page.accountAssociations.map(mapping.toV1) }),
    )
  },

  async create(request, ask) {
    const createRequest = { parent: request.group, accountAssociation: mapping.toV2(request) }
    return mapping.toV1(await ask(createAccountAssociation, createRequest))
  },

  async update(request, ask) {
    const accountAssociation = mapping.toV2(request)
    const updateRequest = { accountAssociation, updateMask: { paths: [...mapping.paths] } }
    return mapping.toV1(await ask(updateAccountAssociation, updateRequest))
  },

  delete: ({ group }, ask) => ask(deleteAccountAssociation, { uid: group }),

  check: mapMethod(GroupAccountAssociations.method.check, checkAccountAssociation, {
    group: 'uid',
    accountType: 'providerType',
    ready: 'status',
  }),
})
