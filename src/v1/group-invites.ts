import { create } from '@bufbuild/protobuf'
import {
  GroupInviteListSchema,
  GroupInviteRequestSchema,
  GroupInviteSchema,
  GroupInvites,
  StoredGroupInviteSchema,
} from '#gen/chainguard/platform/iam/group_invites_pb.js'
import { RoleSchema } from '#gen/chainguard/platform/iam/roles_pb.js'
import {
  GroupInviteRoleSchema,
  GroupInvitesService,
  GroupInviteSchema as NewGroupInviteSchema,
} from '#gen/chainguard/platform/iam/v2beta1/group_invites_pb.js'
import { unimplemented } from '../core/errors.ts'
import { parseUid } from '../core/uid.ts'
import { capabilityNames } from './capability-names.ts'
import { narrowed, nothing, respelled, translation, wholeList } from './translation.ts'
import { inner, type Pair, wording } from './wording.ts'

/** Invites of version 1. The one who creates an invite sees another message than who lists it. */

const role = wording(RoleSchema, GroupInviteRoleSchema, [
  ['id', 'uid'],
  'name',
  'description',
  ['capabilities', 'capabilities', capabilityNames],
])

const shown: readonly Pair[] = [
  ['id', 'uid'],
  ['expiration', 'expirationTime'],
  'keyId',
  ['role', 'role', inner(role)],
]
const created = wording(GroupInviteSchema, NewGroupInviteSchema, [...shown, 'code'], {
  jsonOnly: { createdAt: 'createTime' },
})
const stored = wording(StoredGroupInviteSchema, NewGroupInviteSchema, [
  ...shown,
  'email',
  ['createdAt', 'createTime'],
  'singleUse',
])
const asked = wording(
  GroupInviteRequestSchema,
  NewGroupInviteSchema,
  ['ttl', ['role', 'roleUid'], 'email', 'singleUse'],
  { without: ['group'] },
)

const { listGroupInvites, createGroupInvite, deleteGroupInvite } = GroupInvitesService.method

export const groupInvites = translation(GroupInvites, respelled({ parent: 'group', uid: 'id' }, asked), {
  async list({ group, id, keyId }, ask) {
    const within = narrowed(undefined, { id })
    if (within === nothing || (group !== '' && parseUid(group) === undefined))
      return create(GroupInviteListSchema)
    const query = { uidp: { ...within, descendantsOf: group }, keyId }
    return wholeList(ask, listGroupInvites, query, (page) =>
      create(GroupInviteListSchema, { items: page.groupInvites.map(stored.toOld) }),
    )
  },

  async create(request, ask) {
    const made = { parent: request.group, groupInvite: asked.toNew(request) }
    return created.toOld(await ask(createGroupInvite, made))
  },

  async createWithGroup() {
    throw unimplemented(
      'CreateWithGroup was internal to the public service, which says neither who may call it nor how',
    )
  },

  delete: ({ id }, ask) => ask(deleteGroupInvite, { uid: id }),
})
