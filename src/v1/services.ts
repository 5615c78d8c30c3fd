import type { ServiceTranslation } from '../core/call.ts'
import type { Store } from '../storage/store.ts'
import { accountAssociations } from './account-associations.ts'
import { groupInvites } from './group-invites.ts'
import { groups } from './groups.ts'
import { identities } from './identities.ts'
import { identityProviders } from './identity-providers.ts'
import { roleBindings } from './role-bindings.ts'
import { roles } from './roles.ts'

/** Version 1 of the management API: every service of it that this server translates. */
export const v1Translations = (store: Pick<Store, 'db' | 'clock'>): readonly ServiceTranslation[] => [
  groups,
  identities(store),
  roles,
  roleBindings,
  identityProviders,
  accountAssociations,
  groupInvites,
]
