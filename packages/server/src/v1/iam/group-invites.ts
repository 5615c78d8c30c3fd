import {
  GroupInviteListSchema,
  GroupInviteRequestSchema,
  GroupInviteSchema,
  GroupInvites,
  StoredGroupInviteSchema,
} from '@berth/contract/gen/chainguard/platform/iam/group_invites_pb.js'
import { RoleSchema } from '@berth/contract/gen/chainguard/platform/iam/roles_pb.js'
import {
  GroupInviteRoleSchema,
  GroupInvitesService,
  GroupInviteSchema as NewGroupInviteSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/group_invites_pb.js'
import { create } from '@bufbuild/protobuf'
import { unimplemented } from '../../api/errors.ts'
import { parseUid } from '../../api/uid.ts'
import { capabilityNames } from '../mapping/capability-names.ts'
import { createMapping, type FieldPair, nestedMessage } from '../mapping/message-mapping.ts'
import {
  fieldPathMapper,
  listAllPages,
  narrowFilter,
  noMatch,
  translateService,
} from '../mapping/translation.ts'

/** Invites of version 1. Creating an invite returns another message than listing it. */

const roleMapping = createMapping(RoleSchema, GroupInviteRoleSchema, [
  ['id', 'uid'],
  'name',
  'description',
  ['capabilities', 'capabilities', capabilityNames],
])

const sharedFields: readonly FieldPair[] = [
  ['id', 'uid'],
  ['expiration', 'expirationTime'],
  'keyId',
  ['role', 'role', nestedMessage(roleMapping)],
]
const createdMapping = createMapping(GroupInviteSchema, NewGroupInviteSchema, [...sharedFields, 'code'], {
  jsonOnly: { createdAt: 'createTime' },
})
const storedMapping = createMapping(StoredGroupInviteSchema, NewGroupInviteSchema, [
  ...sharedFields,
  'email',
  ['createdAt', 'createTime'],
  'singleUse',
])
const requestMapping = createMapping(
  GroupInviteRequestSchema,
  NewGroupInviteSchema,
  ['ttl', ['role', 'roleUid'], 'email', 'singleUse'],
  { ignored: ['group'] },
)

const { listGroupInvites, createGroupInvite, deleteGroupInvite } = GroupInvitesService.method

export const groupInvites = translateService(
  GroupInvites,
  fieldPathMapper({ parent: 'group', uid: 'id' }, requestMapping),
  {
    async list({ group, id, keyId }, ask) {
      const filter = narrowFilter(undefined, { id })
      if (filter === noMatch || (group !== '' && parseUid(group) === undefined))
        return create(GroupInviteListSchema)
      const query = { uidp: { ...filter, descendantsOf: group }, keyId }
      return listAllPages(ask, listGroupInvites, query, (page) =>
        create(GroupInviteListSchema, { items: page.groupInvites.map(storedMapping.toV1) }),
      )
    },

    async create(request, ask) {
      const createRequest = { parent: request.group, groupInvite: requestMapping.toV2(request) }
      return createdMapping.toV1(await ask(createGroupInvite, createRequest))
    },

    async createWithGroup() {
      throw unimplemented('CreateWithGroup was internal to the public service, which does not document it')
    },

    delete: ({ id }, ask) => ask(deleteGroupInvite, { uid: id }),
  },
)
