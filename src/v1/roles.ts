import { create } from '@bufbuild/protobuf'
import { RoleListSchema, RoleSchema, Roles } from '#gen/chainguard/platform/iam/roles_pb.js'
import { RoleSchema as NewRoleSchema, RolesService } from '#gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { capabilityNames } from './capability-names.ts'
import { narrowed, nothing, respelled, translation, wholeList } from './translation.ts'
import { wording } from './wording.ts'

/** Roles of version 1. */

export const role = wording(
  RoleSchema,
  NewRoleSchema,
  [['id', 'uid'], 'name', 'description', ['capabilities', 'capabilities', capabilityNames]],
  { jsonOnly: { createdAt: 'createTime', updatedAt: 'updateTime' } },
)

const { listRoles, createRole, updateRole, deleteRole } = RolesService.method

export const roles = translation(Roles, respelled({ parent: 'parentId' }, role), {
  async list({ id, name, parent, uidp }, ask) {
    const within = narrowed(uidp, { id, parent })
    if (within === nothing) return create(RoleListSchema)
    return wholeList(ask, listRoles, { uidp: within, name }, (page) =>
      create(RoleListSchema, { items: page.roles.map(role.toOld) }),
    )
  },

  async create({ parentId, role: made = create(RoleSchema) }, ask) {
    return role.toOld(await ask(createRole, { parent: parentId, role: role.toNew(made) }))
  },

  async update(request, ask) {
    const changed = { role: role.toNew(request), updateMask: { paths: [...role.paths] } }
    return role.toOld(await ask(updateRole, changed))
  },

  delete: ({ id }, ask) => ask(deleteRole, { uid: id }),
})
