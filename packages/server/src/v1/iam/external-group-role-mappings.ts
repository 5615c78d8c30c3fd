import {
  BatchDeleteExternalGroupRoleMappingsResponseSchema,
  ExternalGroupRoleMappingListSchema,
  ExternalGroupRoleMappingSchema,
  ExternalGroupRoleMappings,
} from '@berth/contract/gen/chainguard/platform/iam/external_group_role_mappings_pb.js'
import {
  ExternalGroupRoleMappingsService,
  ExternalGroupRoleMappingSchema as NewMappingSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/external_group_role_mappings_pb.js'
import { create } from '@bufbuild/protobuf'
import { parseUid } from '../../api/uid.ts'
import { createMapping } from '../mapping/message-mapping.ts'
import {
  fieldPathMapper,
  listAllPages,
  narrowFilter,
  noMatch,
  translateService,
} from '../mapping/translation.ts'

/** Mappings of external groups of version 1. */

const messageMapping = createMapping(ExternalGroupRoleMappingSchema, NewMappingSchema, [
  ['id', 'uid'],
  ['identityProviderUidp', 'identityProviderUid'],
  'externalGroupId',
  ['roleUidp', 'roleUid'],
  'scope',
  ['createdAt', 'createTime'],
])

const {
  getExternalGroupRoleMapping,
  listExternalGroupRoleMappings,
  createExternalGroupRoleMapping,
  deleteExternalGroupRoleMapping,
  batchDeleteExternalGroupRoleMappings,
} = ExternalGroupRoleMappingsService.method

/** `names[2]` of the newer batch is `ids[2]` here. */
const toV1Path = (field: string) =>
  field.startsWith('names')
    ? field.replace('names', 'ids')
    : fieldPathMapper({ parent: 'parentId' }, messageMapping)(field)

export const externalGroupRoleMappings = translateService(ExternalGroupRoleMappings, toV1Path, {
  async list({ uidp, identityProviderUidp: provider }, ask) {
    const filter = narrowFilter(uidp, {})
    if (filter === noMatch || (provider !== '' && parseUid(provider) === undefined))
      return create(ExternalGroupRoleMappingListSchema)
    const query = { uidp: filter, identityProviderUid: provider }
    return listAllPages(ask, listExternalGroupRoleMappings, query, (page) =>
      create(ExternalGroupRoleMappingListSchema, {
        items: page.externalGroupRoleMappings.map(messageMapping.toV1),
      }),
    )
  },

  get: async ({ uid }, ask) => messageMapping.toV1(await ask(getExternalGroupRoleMapping, { uid })),

  async create({ parentId, mapping = create(ExternalGroupRoleMappingSchema) }, ask) {
    const request = { parent: parentId, externalGroupRoleMapping: messageMapping.toV2(mapping) }
    return messageMapping.toV1(await ask(createExternalGroupRoleMapping, request))
  },

  delete: ({ id }, ask) => ask(deleteExternalGroupRoleMapping, { uid: id }),

  async batchDelete({ parentId, ids }, ask) {
    const request = { parent: parentId, names: ids }
    const { parent, externalGroupRoleMappings: deleted } = await ask(
      batchDeleteExternalGroupRoleMappings,
      request,
    )
    return create(BatchDeleteExternalGroupRoleMappingsResponseSchema, {
      parentId: parent,
      items: deleted.map(messageMapping.toV1),
    })
  },
})
