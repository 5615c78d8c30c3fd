import type { ServiceTranslation } from '../pipeline/call.ts'
import type { Store } from '../storage/store.ts'
import { accountAssociations } from './iam/account-associations.ts'
import { externalGroupRoleMappings } from './iam/external-group-role-mappings.ts'
import { groupInvites } from './iam/group-invites.ts'
import { groups } from './iam/groups.ts'
import { identities } from './iam/identities.ts'
import { identityProviders } from './iam/identity-providers.ts'
import { roleBindings } from './iam/role-bindings.ts'
import { roles } from './iam/roles.ts'

/** Version 1 of the management API: every service that this server translates. */
export const v1Translations = (store: Pick<Store, 'db' | 'clock'>): readonly ServiceTranslation[] => [
  groups,
  identities(store),
  roles,
  roleBindings,
  identityProviders,
  externalGroupRoleMappings,
  accountAssociations,
  groupInvites,
]
