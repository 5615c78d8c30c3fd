import { create } from '@bufbuild/protobuf'
import type { Group } from '#gen/chainguard/platform/iam/groups_pb.js'
import {
  type RoleBinding,
  RoleBindingBatchSchema,
  RoleBindingList_BindingSchema,
  RoleBindingListSchema,
  RoleBindingSchema,
  RoleBindings,
} from '#gen/chainguard/platform/iam/role_bindings_pb.js'
import type { Role } from '#gen/chainguard/platform/iam/roles_pb.js'
import { GroupsService } from '#gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { IdentitiesService } from '#gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import {
  type RoleBinding as NewRoleBinding,
  RoleBindingSchema as NewRoleBindingSchema,
  RoleBindingsService,
} from '#gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { RolesService } from '#gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { type Ask, implement, type ServiceImplementation } from '../core/call.ts'
import { limits } from '../core/limits.ts'
import { parentOf } from '../core/uid.ts'
import { createBatch, toRoleBinding } from '../iam/role-bindings.ts'
import type { Store } from '../storage/store.ts'
import { group } from './groups.ts'
import { role } from './roles.ts'
import { inWords, narrowed, nothing, respelled, translation, wholeList } from './translation.ts'
import { wording } from './wording.ts'

/** Role bindings of version 1. Its lists show whole groups and roles where newer ones only name them. */

const binding = wording(
  RoleBindingSchema,
  NewRoleBindingSchema,
  [
    ['id', 'uid'],
    ['identity', 'identityUid'],
    ['role', 'roleUid'],
  ],
  { jsonOnly: { createdAt: 'createTime' }, without: ['group'] },
)

/** The group, which requests do not name, is what the binding lies in. */
const toOld = (made: NewRoleBinding): RoleBinding => ({
  ...binding.toOld(made),
  group: parentOf(made.uid),
})

const { listRoleBindings, createRoleBinding, updateRoleBinding, deleteRoleBinding } =
  RoleBindingsService.method

/** `requests[1].roleBinding.roleUid` of a batch is `roleBindings[1].role`. */
const spelledOne = respelled({}, binding)
const spelled = (field: string) => {
  const [, at, inside] = /^requests((?:\[\d+\])?)(?:\.roleBinding\.(.*))?$/.exec(field) ?? []
  if (at === undefined) return spelledOne(field)
  return `roleBindings${at}${inside === undefined ? '' : `.${spelledOne(inside)}`}`
}

export const roleBindings = translation(RoleBindings, spelled, {
  async list({ id, uidp }, ask) {
    const within = narrowed(uidp, { id })
    if (within === nothing) return create(RoleBindingListSchema)
    return wholeList(ask, listRoleBindings, { uidp: within }, async ({ roleBindings: found }) => {
      const groups = await groupsAmong(ask, found)
      const roles = await rolesAmong(ask, found)
      const unverified = await unverifiedAddressesAmong(ask, found)
      const items = found.map((one) => {
        const { uid, identity, identityUid, createTime } = one
        return create(RoleBindingList_BindingSchema, {
          id: uid,
          ...(one.group && { group: groups.get(one.group.uid) ?? named(one.group) }),
          identity: identityUid,
          ...(one.role && { role: roles.get(one.role.uid) ?? named(one.role) }),
          ...(identity && {
            email: identity.email,
            claimMatchIssuer: identity.issuer,
            claimMatchSubject: identity.subject,
            emailUnverified: unverified.get(identity.uid) ?? '',
          }),
          ...(createTime && { createdAt: createTime }),
        })
      })
      return create(RoleBindingListSchema, { items })
    })
  },

  async create({ parent, roleBinding: made = create(RoleBindingSchema) }, ask) {
    return toOld(await ask(createRoleBinding, { parent, roleBinding: binding.toNew(made) }))
  },

  async update(request, ask) {
    const changed = { roleBinding: binding.toNew(request), updateMask: { paths: [...binding.paths] } }
    return toOld(await ask(updateRoleBinding, changed))
  },

  delete: ({ id }, ask) => ask(deleteRoleBinding, { uid: id }),
})

/** A batch may be longer than a newer one, so it is not asked for there. */
export function roleBindingsService(store: Store): ServiceImplementation {
  return implement(RoleBindings, {
    createBatch: ({ roleBindings: all }, call) =>
      inWords(spelled, () => {
        const bindings = all.map(({ identity, role }) => ({ identityUid: identity, roleUid: role }))
        return createBatch(store, call, bindings, {
          max: limits.batchEntriesMaxInVersionOne,
          answer: async (_tx, rows) =>
            create(RoleBindingBatchSchema, { roleBindings: rows.map((row) => toOld(toRoleBinding(row))) }),
        })
      }),
  })
}

/** What is known of a group or a role that the caller may not read. */
function named({ uid, name, description }: NonNullable<NewRoleBinding['group' | 'role']>) {
  return { id: uid, name, description }
}

/** The groups of a page of bindings, as far as the caller may read them. */
async function groupsAmong(ask: Ask, bindings: readonly NewRoleBinding[]): Promise<Map<string, Group>> {
  const asked = theirs(bindings.map((one) => one.group?.uid))
  if (asked === undefined) return new Map()
  const { groups } = await ask(GroupsService.method.listGroups, asked)
  return new Map(groups.map((one) => [one.uid, group.toOld(one)]))
}

/** The roles of a page of bindings, as far as the caller may read them. */
async function rolesAmong(ask: Ask, bindings: readonly NewRoleBinding[]): Promise<Map<string, Role>> {
  const asked = theirs(bindings.map((one) => one.role?.uid))
  if (asked === undefined) return new Map()
  const { roles } = await ask(RolesService.method.listRoles, asked)
  return new Map(roles.map((one) => [one.uid, role.toOld(one)]))
}

/** The list of what is named; a page names no more than a page holds. Undefined where nothing is, which as a filter would be all. */
function theirs(uids: readonly (string | undefined)[]) {
  const ids = [...new Set(uids)].filter((uid) => uid !== undefined && uid !== '') as string[]
  return ids.length === 0 ? undefined : { uidp: { ids }, pageSize: limits.pageSizeMax }
}

/** The addresses that nobody has verified, of identities that the caller may read. */
async function unverifiedAddressesAmong(
  ask: Ask,
  bindings: readonly NewRoleBinding[],
): Promise<Map<string, string>> {
  const asked = theirs(bindings.map((one) => one.identityUid))
  if (asked === undefined) return new Map()
  const { identities } = await ask(IdentitiesService.method.listIdentities, asked)
  return new Map(identities.map(({ uid, emailUnverified }) => [uid, emailUnverified]))
}
