import type { CommandBody } from '../../invocation/command-declaration.ts'
import { accessGroup } from './access/commands.ts'
import { accountAssociationsGroup } from './account-associations.ts'
import { foldersGroup, organizationsGroup } from './groups.ts'
import { identitiesGroup } from './identities.ts'
import { invitesGroup } from './invites.ts'
import { groupMappingsGroup } from './providers/group-mappings.ts'
import { identityProvidersGroup } from './providers/identity-providers.ts'
import { roleBindingsGroup } from './role-bindings.ts'
import { rolesGroup } from './roles.ts'

export const iamCommands: CommandBody = {
  commands: [
    organizationsGroup,
    foldersGroup,
    identitiesGroup,
    rolesGroup,
    roleBindingsGroup,
    accessGroup,
    invitesGroup,
    identityProvidersGroup,
    groupMappingsGroup,
    accountAssociationsGroup,
  ],
}
