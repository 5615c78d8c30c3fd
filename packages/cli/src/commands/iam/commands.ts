import type { CommandBody } from '../../invocation/command-declaration.ts'
import { accountAssociationsGroup } from './account-associations.ts'
import { foldersGroup, organizationsGroup } from './groups.ts'
import { identitiesGroup } from './identities.ts'
import { identityProvidersGroup } from './identity-providers.ts'
import { invitesGroup } from './invites.ts'
import { roleBindingsGroup } from './role-bindings.ts'
import { rolesGroup } from './roles.ts'

export const iamCommands: CommandBody = {
  commands: [
    organizationsGroup,
    foldersGroup,
    identitiesGroup,
    rolesGroup,
    roleBindingsGroup,
    invitesGroup,
    identityProvidersGroup,
    accountAssociationsGroup,
  ],
}
