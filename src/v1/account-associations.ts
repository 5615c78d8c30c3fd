import { create } from '@bufbuild/protobuf'
import {
  AccountAssociationsListSchema,
  AccountAssociationsSchema,
  GroupAccountAssociations,
} from '#gen/chainguard/platform/iam/account_associations_pb.js'
import {
  AccountAssociationSchema,
  AccountAssociationsService,
} from '#gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'
import { asked, narrowed, nothing, respelled, translation, wholeList } from './translation.ts'
import { wording } from './wording.ts'

/** Account associations of version 1, which go by their group. */

const association = wording(
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

const spelled = respelled({ parent: 'group', providerType: 'accountType' }, association)

export const accountAssociations = translation(GroupAccountAssociations, spelled, {
  async list({ group, name }, ask) {
    const within = narrowed(undefined, { id: group })
    if (within === nothing) return create(AccountAssociationsListSchema)
    const query = { uidp: within, name }
    return wholeList(ask, listAccountAssociations, query, (page) =>
      create(AccountAssociationsListSchema, { items: page.accountAssociations.map(association.toOld) }),
    )
  },

  async create(request, ask) {
    const made = { parent: request.group, accountAssociation: association.toNew(request) }
    return association.toOld(await ask(createAccountAssociation, made))
  },

  async update(request, ask) {
    const accountAssociation = association.toNew(request)
    const changed = { accountAssociation, updateMask: { paths: [...association.paths] } }
    return association.toOld(await ask(updateAccountAssociation, changed))
  },

  delete: ({ group }, ask) => ask(deleteAccountAssociation, { uid: group }),

  check: asked(GroupAccountAssociations.method.check, checkAccountAssociation, {
    group: 'uid',
    accountType: 'providerType',
    ready: 'status',
  }),
})
