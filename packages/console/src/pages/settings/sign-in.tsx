import type { IdentityProvider } from '@berth/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { rolesQuery } from '../../api/queries/iam/access.ts'
import { providersQuery } from '../../api/queries/organization.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { DeleteDialog } from '../../components/form-dialog.tsx'
import { PageList } from '../../components/page-list.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'
import { Provider } from './provider.tsx'
import { CreateProviderDialog } from './provider-dialogs.tsx'
import type { SettingsTabProps } from './settings.tsx'

/** The OpenID providers that users of an organization sign in with. */
export function SignIn({ organization }: SettingsTabProps) {
  const { uid, name } = organization.value
  const [{ provider }, change] = useAddressState()
  const [dialog, setDialog] = useState<'create' | IdentityProvider | undefined>()
  const access = useAccess()
  const queries = useQueryClient()
  const { data: roles = [] } = useQuery(rolesQuery(uid))
  const roleOf = (role: string) => roles.find((one) => one.uid === role)?.name ?? role
  const close = () => setDialog(undefined)
  if (provider !== undefined) return <Provider uid={provider} organization={uid} roleOf={roleOf} />
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Add an identity provider"
          missing={
            access.missing(uid, 'identity_providers.create') ?? access.missing(uid, 'role_bindings.create')
          }
          onPress={() => setDialog('create')}
        />
      </div>
      <PageList
        label="Identity providers"
        query={providersQuery(uid)}
        missing={access.missing(uid, 'identity_providers.list')}
        keyOf={(one) => one.uid}
        columns={[
          {
            id: 'name',
            title: 'Name',
            cell: (one) => (
              <Link to="." search={{ tab: 'sign-in', provider: one.uid }}>
                {one.name}
              </Link>
            ),
          },
          { id: 'issuer', title: 'Issuer', cell: (one) => one.oidc?.issuer },
          { id: 'role', title: 'Role of new users', cell: (one) => roleOf(one.defaultRole) },
          { id: 'updated', title: 'Updated', cell: (one) => <Time value={one.updateTime} /> },
          {
            id: 'actions',
            title: 'Actions',
            cell: (one) => (
              <RowAction
                label="Delete"
                object={one.name}
                missing={access.missing(uid, 'identity_providers.delete')}
                onPress={() => setDialog(one)}
              />
            ),
          },
        ]}
        empty={
          <p>
            There are no identity providers yet. With one, members sign in with the accounts of your company,
            and lose access when they leave it. Google Workspace, Microsoft Entra ID, Keycloak, Dex and Okta
            are known to work.
          </p>
        }
      />
      <Equivalent command={`berth iam identity-providers list --parent ${quoted(name)}`} />
      {dialog === 'create' && (
        <CreateProviderDialog
          organization={uid}
          onClose={close}
          onCreated={(created) => change({ provider: created })}
        />
      )}
      {dialog !== undefined && dialog !== 'create' && (
        <DeleteDialog
          kind="identity provider"
          name={dialog.name}
          onClose={close}
          submit={async () => {
            await api.identityProviders.delete(dialog.uid)
            await queries.invalidateQueries({ queryKey: ['identity-providers', uid] })
          }}
        >
          All users who signed in with it are signed out, and cannot sign in with it again. Their identities
          and roles stay.
        </DeleteDialog>
      )}
    </>
  )
}
