import type { CommandGroup } from '../../invocation/command-declaration.ts'
import { accountAssociationsGroup } from './account-associations.ts'
import { foldersGroup, organizationsGroup } from './groups.ts'
import { identitiesGroup } from './identities.ts'
import { identityProvidersGroup } from './identity-providers.ts'
import { invitesGroup } from './invites.ts'
import { roleBindingsGroup } from './role-bindings.ts'
import { rolesGroup } from './roles.ts'

export const iamGroup: CommandGroup = {
  name: 'iam',
  summary: 'who may do what: organizations, folders, identities, roles',
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
