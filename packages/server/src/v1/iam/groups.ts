import {
  CheckEligibilityResponseSchema,
  GroupListSchema,
  GroupSchema,
  Groups,
  LookupGroupResponseSchema,
  RequestGroupAccessResponseSchema,
} from '@berth/contract/gen/chainguard/platform/iam/groups_pb.js'
import {
  GroupsService,
  GroupSchema as NewGroupSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { create } from '@bufbuild/protobuf'
import { isPlatformAdministrator } from '../../pipeline/authorization.ts'
import { createMapping } from '../mapping/message-mapping.ts'
import {
  fieldPathMapper,
  listAllPages,
  narrowFilter,
  noMatch,
  translateService,
} from '../mapping/translation.ts'

/** Groups of version 1. */

export const groupMapping = createMapping(
  GroupSchema,
  NewGroupSchema,
  [['id', 'uid'], 'name', 'description', 'resourceLimits', 'verified', 'kind', 'status'],
  { jsonOnly: { createdAt: 'createTime', updatedAt: 'updateTime' } },
)
/** What callers may write; the operator may also set `verified`. */
const writableFields = ['name', 'description']

const {
  listGroups,
  createGroup,
  updateGroup,
  deleteGroup,
  lookupGroup,
  requestGroupAccess,
  checkEligibility,
} = GroupsService.method

const toV1Path = fieldPathMapper({ groupUid: 'groupId' }, groupMapping)

export const groups = translateService(Groups, toV1Path, {
  async list({ id, uidp, name }, ask) {
    const filter = narrowFilter(uidp, { id })
    if (filter === noMatch) return create(GroupListSchema)
    return listAllPages(ask, listGroups, { uidp: filter, name }, (page) =>
      create(GroupListSchema, { items: page.groups.map(groupMapping.toV1) }),
    )
  },

  async create({ parent, group: { name = '', description = '' } = {} as never }, ask) {
    return groupMapping.toV1(await ask(createGroup, { parent, group: { name, description } }))
  },

  async update(request, ask, { grants }) {
    const paths = isPlatformAdministrator(grants) ? [...writableFields, 'verified'] : writableFields
    return groupMapping.toV1(
      await ask(updateGroup, { group: groupMapping.toV2(request), updateMask: { paths } }),
    )
  },

  delete: ({ id }, ask) => ask(deleteGroup, { uid: id }),

  async lookupGroup(_request, ask) {
    const { group: found } = await ask(lookupGroup, {})
    return create(LookupGroupResponseSchema, found && { group: groupMapping.toV1(found) })
  },

  async requestGroupAccess({ groupId }, ask) {
    await ask(requestGroupAccess, { groupUid: groupId })
    return create(RequestGroupAccessResponseSchema)
  },

  async checkEligibility(_request, ask) {
    const { eligible } = await ask(checkEligibility, {})
    return create(CheckEligibilityResponseSchema, { eligible })
  },
})
