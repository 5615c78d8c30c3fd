import { RoleListSchema, RoleSchema, Roles } from '@berth/contract/gen/chainguard/platform/iam/roles_pb.js'
import {
  RoleSchema as NewRoleSchema,
  RolesService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { create } from '@bufbuild/protobuf'
import { capabilityNames } from '../mapping/capability-names.ts'
import { createMapping } from '../mapping/message-mapping.ts'
import {
  fieldPathMapper,
  listAllPages,
  narrowFilter,
  noMatch,
  translateService,
} from '../mapping/translation.ts'

/** Roles of version 1. */

export const roleMapping = createMapping(
  RoleSchema,
  NewRoleSchema,
  [['id', 'uid'], 'name', 'description', ['capabilities', 'capabilities', capabilityNames]],
  { jsonOnly: { createdAt: 'createTime', updatedAt: 'updateTime' } },
)

const { listRoles, createRole, updateRole, deleteRole } = RolesService.method

export const roles = translateService(Roles, fieldPathMapper({ parent: 'parentId' }, roleMapping), {
  async list({ id, name, parent, uidp }, ask) {
    const filter = narrowFilter(uidp, { id, parent })
    if (filter === noMatch) return create(RoleListSchema)
    return listAllPages(ask, listRoles, { uidp: filter, name }, (page) =>
      create(RoleListSchema, { items: page.roles.map(roleMapping.toV1) }),
    )
  },

  async create({ parentId, role: made = create(RoleSchema) }, ask) {
    return roleMapping.toV1(await ask(createRole, { parent: parentId, role: roleMapping.toV2(made) }))
  },

  async update(request, ask) {
    const changed = { role: roleMapping.toV2(request), updateMask: { paths: [...roleMapping.paths] } }
    return roleMapping.toV1(await ask(updateRole, changed))
  },

  delete: ({ id }, ask) => ask(deleteRole, { uid: id }),
})
