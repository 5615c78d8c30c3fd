import type { Group } from '@berth/contract/gen/chainguard/platform/iam/groups_pb.js'
import {
  type RoleBinding,
  RoleBindingBatchSchema,
  RoleBindingList_BindingSchema,
  RoleBindingListSchema,
  RoleBindingSchema,
  RoleBindings,
} from '@berth/contract/gen/chainguard/platform/iam/role_bindings_pb.js'
import type { Role } from '@berth/contract/gen/chainguard/platform/iam/roles_pb.js'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { IdentitiesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import {
  type RoleBinding as NewRoleBinding,
  RoleBindingSchema as NewRoleBindingSchema,
  RoleBindingsService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { RolesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { create } from '@bufbuild/protobuf'
import { parentOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { createBatch, toRoleBinding } from '../../iam/role-bindings.ts'
import { type InvokeMethod, implement, type ServiceImplementation } from '../../pipeline/call.ts'
import type { Store } from '../../storage/store.ts'
import { createMapping } from '../mapping/message-mapping.ts'
import {
  fieldPathMapper,
  listAllPages,
  narrowFilter,
  noMatch,
  translateErrors,
  translateService,
} from '../mapping/translation.ts'
import { groupMapping } from './groups.ts'
import { roleMapping } from './roles.ts'

/** Role bindings of version 1. Its lists contain whole groups and roles where newer ones contain only names. */

const bindingMapping = createMapping(
  RoleBindingSchema,
  NewRoleBindingSchema,
  [
    ['id', 'uid'],
    ['identity', 'identityUid'],
    ['role', 'roleUid'],
  ],
  { jsonOnly: { createdAt: 'createTime' }, ignored: ['group'] },
)

/** The group, which requests do not name, is the parent of the binding. */
const toV1Binding = (made: NewRoleBinding): RoleBinding => ({
  ...bindingMapping.toV1(made),
  group: parentOf(made.uid),
})

const { listRoleBindings, createRoleBinding, updateRoleBinding, deleteRoleBinding } =
  RoleBindingsService.method

/** `requests[1].roleBinding.roleUid` of a batch is `roleBindings[1].role`. */
const toV1BindingPath = fieldPathMapper({}, bindingMapping)
const toV1Path = (field: string) => {
  const [, at, inside] = /^requests((?:\[\d+\])?)(?:\.roleBinding\.(.*))?$/.exec(field) ?? []
  if (at === undefined) return toV1BindingPath(field)
  return `roleBindings${at}${inside === undefined ? '' : `.${toV1BindingPath(inside)}`}`
}

export const roleBindings = translateService(RoleBindings, toV1Path, {
  async list({ id, uidp }, ask) {
    const filter = narrowFilter(uidp, { id })
    if (filter === noMatch) return create(RoleBindingListSchema)
    return listAllPages(ask, listRoleBindings, { uidp: filter }, async ({ roleBindings: found }) => {
      const groups = await listReferencedGroups(ask, found)
      const roles = await listReferencedRoles(ask, found)
      const unverified = await listUnverifiedEmails(ask, found)
      const items = found.map((item) => {
        const { uid, identity, identityUid, createTime } = item
        return create(RoleBindingList_BindingSchema, {
          id: uid,
          ...(item.group && { group: groups.get(item.group.uid) ?? toSummary(item.group) }),
          identity: identityUid,
          ...(item.role && { role: roles.get(item.role.uid) ?? toSummary(item.role) }),
          ...(identity && {
            email: identity.email,
            claimMatchIssuer: identity.issuer,
            claimMatchSubject: identity.subject,
            emailUnverified: unverified.get(identity.uid) ?? '',
            ...(identity.detailsUnavailable && { detailsUnavailable: true }),
          }),
          ...(createTime && { createdAt: createTime }),
        })
      })
      return create(RoleBindingListSchema, { items })
    })
  },

  async create({ parent, roleBinding: newBinding = create(RoleBindingSchema) }, ask) {
    return toV1Binding(await ask(createRoleBinding, { parent, roleBinding: bindingMapping.toV2(newBinding) }))
  },

  async update(request, ask) {
    const changed = {
      roleBinding: bindingMapping.toV2(request),
      updateMask: { paths: [...bindingMapping.paths] },
    }
    return toV1Binding(await ask(updateRoleBinding, changed))
  },

  delete: ({ id }, ask) => ask(deleteRoleBinding, { uid: id }),
})

/** A batch may be longer than a newer one, so the newer method is not called. */
export function roleBindingsService(store: Store): ServiceImplementation {
  return implement(RoleBindings, {
    createBatch: ({ roleBindings: all }, call) =>
      translateErrors(toV1Path, () => {
        const bindings = all.map(({ identity, role }) => ({ identityUid: identity, roleUid: role }))
        return createBatch(store, call, bindings, {
          max: limits.v1BatchEntriesMax,
          toResponse: async (_tx, rows) =>
            create(RoleBindingBatchSchema, {
              roleBindings: rows.map((row) => toV1Binding(toRoleBinding(row))),
            }),
        })
      }),
  })
}

/** The known fields of a group or a role that the caller may not read. */
function toSummary({ uid, name, description }: NonNullable<NewRoleBinding['group' | 'role']>) {
  return { id: uid, name, description }
}

/** The groups of a page of bindings, if the caller may read them. */
async function listReferencedGroups(
  ask: InvokeMethod,
  bindings: readonly NewRoleBinding[],
): Promise<Map<string, Group>> {
  const request = uidFilterRequest(bindings.map((one) => one.group?.uid))
  if (request === undefined) return new Map()
  const { groups } = await ask(GroupsService.method.listGroups, request)
  return new Map(groups.map((one) => [one.uid, groupMapping.toV1(one)]))
}

/** The roles of a page of bindings, if the caller may read them. */
async function listReferencedRoles(
  ask: InvokeMethod,
  bindings: readonly NewRoleBinding[],
): Promise<Map<string, Role>> {
  const request = uidFilterRequest(bindings.map((one) => one.role?.uid))
  if (request === undefined) return new Map()
  const { roles } = await ask(RolesService.method.listRoles, request)
  return new Map(roles.map((one) => [one.uid, roleMapping.toV1(one)]))
}

/** Lists the named resources, at most one page. Undefined without names, because an empty filter would match all. */
function uidFilterRequest(uids: readonly (string | undefined)[]) {
  const ids = [...new Set(uids)].filter((uid) => uid !== undefined && uid !== '') as string[]
  return ids.length === 0 ? undefined : { uidp: { ids }, pageSize: limits.pageSizeMax }
}

/** The unverified addresses of identities that the caller may read. */
async function listUnverifiedEmails(
  ask: InvokeMethod,
  bindings: readonly NewRoleBinding[],
): Promise<Map<string, string>> {
  const request = uidFilterRequest(bindings.map((one) => one.identityUid))
  if (request === undefined) return new Map()
  const { identities } = await ask(IdentitiesService.method.listIdentities, request)
  return new Map(identities.map(({ uid, emailUnverified }) => [uid, emailUnverified]))
}
