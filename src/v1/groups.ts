import { create } from '@bufbuild/protobuf'
import {
  CheckEligibilityResponseSchema,
  GroupListSchema,
  GroupSchema,
  Groups,
  LookupGroupResponseSchema,
  RequestGroupAccessResponseSchema,
} from '#gen/chainguard/platform/iam/groups_pb.js'
import {
  GroupsService,
  GroupSchema as NewGroupSchema,
} from '#gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { isPlatformAdministrator } from '../core/allowed.ts'
import { narrowed, nothing, respelled, translation, wholeList } from './translation.ts'
import { wording } from './wording.ts'

/** Groups of version 1. */

export const group = wording(
  GroupSchema,
  NewGroupSchema,
  [['id', 'uid'], 'name', 'description', 'resourceLimits', 'verified', 'kind', 'status'],
  { jsonOnly: { createdAt: 'createTime', updatedAt: 'updateTime' } },
)
/** What its callers may write; the operator's may also say who is verified. */
const written = ['name', 'description']

const {
  listGroups,
  createGroup,
  updateGroup,
  deleteGroup,
  lookupGroup,
  requestGroupAccess,
  checkEligibility,
} = GroupsService.method

const spelled = respelled({ groupUid: 'groupId' }, group)

export const groups = translation(Groups, spelled, {
  async list({ id, uidp, name }, ask) {
    const within = narrowed(uidp, { id })
    if (within === nothing) return create(GroupListSchema)
    return wholeList(ask, listGroups, { uidp: within, name }, (page) =>
      create(GroupListSchema, { items: page.groups.map(group.toOld) }),
    )
  },

  async create({ parent, group: { name = '', description = '' } = {} as never }, ask) {
    return group.toOld(await ask(createGroup, { parent, group: { name, description } }))
  },

  async update(request, ask, { grants }) {
    const paths = isPlatformAdministrator(grants) ? [...written, 'verified'] : written
    return group.toOld(await ask(updateGroup, { group: group.toNew(request), updateMask: { paths } }))
  },

  delete: ({ id }, ask) => ask(deleteGroup, { uid: id }),

  async lookupGroup(_request, ask) {
    const { group: found } = await ask(lookupGroup, {})
    return create(LookupGroupResponseSchema, found && { group: group.toOld(found) })
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
