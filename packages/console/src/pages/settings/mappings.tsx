import type { ExternalGroupRoleMapping, IdentityProvider } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { refreshAccess } from '../../api/access-changes.ts'
import { api } from '../../api/client.ts'
import { parentOf } from '../../api/queries/groups.ts'
import { rolesQuery } from '../../api/queries/iam/access.ts'
import { allProvidersQuery, mappingsQuery } from '../../api/queries/organization.ts'
import { violationOf } from '../../api/query-client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Field, SelectField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { PageList } from '../../components/page-list.tsx'
import { RolePicker } from '../../components/pickers.tsx'
import { plural } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'
import { without } from '../../selections.ts'
import type { SettingsTabProps } from './settings.tsx'

/** Which role the members of a group at an identity provider receive. */
export function Mappings({ organization }: SettingsTabProps) {
  const { uid } = organization.value
  const access = useAccess()
  const [dialog, setDialog] = useState<'create' | 'delete' | undefined>()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const unreadable = access.missing(uid, 'identity_providers.list')
  const roles = useQuery(rolesQuery(uid))
  const query = useQuery({ ...allProvidersQuery(uid), enabled: unreadable === undefined })
  const { data: providers = [] } = query
  const nameOf = (items: readonly { uid: string; name: string }[], wanted: string) =>
    items.find((one) => one.uid === wanted)?.name ?? wanted
  const missing = access.missing(uid, 'identity_providers.delete')
  const close = () => setDialog(undefined)
  // Until then, their uids would be in the place of their names.
  if (unreadable === undefined && query.data === undefined)
    return <NotLoaded what="the identity providers" query={query} />
  if (unreadable === undefined && roles.data === undefined)
    return <NotLoaded what="the roles" query={roles} />
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Add a mapping"
          missing={
            access.missing(uid, 'identity_providers.create') ??
            access.missing(uid, 'role_bindings.create') ??
            (query.data !== undefined && providers.length === 0
              ? 'Add an identity provider first'
              : undefined)
          }
          onPress={() => setDialog('create')}
        />
        {selected.size > 0 && (
          <ActionButton
            label={`Delete ${plural(selected.size, 'mapping')}`}
            isQuiet
            missing={missing}
            onPress={() => setDialog('delete')}
          />
        )}
      </div>
      <PageList<ExternalGroupRoleMapping, readonly unknown[]>
        label="Group mappings"
        query={mappingsQuery(uid)}
        missing={unreadable}
        keyOf={(mapping) => mapping.uid}
        {...(missing === undefined && { selection: { keys: selected, onChange: setSelected } })}
        columns={[
          { id: 'group', title: 'Group at the provider', cell: (mapping) => mapping.externalGroupId },
          { id: 'role', title: 'Role', cell: (mapping) => nameOf(roles.data ?? [], mapping.roleUid) },
          {
            id: 'provider',
            title: 'Identity provider',
            cell: (mapping) => nameOf(providers, mapping.identityProviderUid),
          },
          { id: 'created', title: 'Created', cell: (mapping) => <Time value={mapping.createTime} /> },
        ]}
        empty={
          <p>
            There are no group mappings yet. With one, the members of a group at the identity provider have a
            role here while they are in the group: it is read at each sign-in.
          </p>
        }
      />
      <Equivalent command={`berth iam group-mappings list --parent ${quoted(organization.value.name)}`} />
      {dialog === 'create' && <CreateMappingDialog uid={uid} providers={providers} onClose={close} />}
      {dialog === 'delete' && (
        <DeleteMappingsDialog
          mappings={selected}
          onClose={close}
          onDeleted={() => setSelected((now) => without(now, selected))}
        />
      )}
    </>
  )
}

interface CreateMappingDialogProps {
  readonly uid: string
  readonly providers: readonly IdentityProvider[]
  readonly onClose: () => void
}

function CreateMappingDialog({ uid, providers, onClose }: CreateMappingDialogProps) {
  const [provider, setProvider] = useState(providers[0]?.uid ?? '')
  const [group, setGroup] = useState('')
  const [role, setRole] = useState('')
  const chosen = providers.find((one) => one.uid === provider)
  return (
    <FormDialog
      title="Add a mapping"
      action="Add the mapping"
      isDisabled={[provider, group, role].includes('')}
      entered={{ provider, group, role }}
      onClose={onClose}
      submit={async () => {
        await api.externalGroupRoleMappings.create(provider, {
          externalGroupId: group,
          roleUid: role,
          scope: uid,
        })
        await refreshAccess()
      }}
    >
      {(failure) => (
        <>
          <SelectField
            label="Identity provider"
            choices={providers.map((one) => ({ id: one.uid, name: one.name }))}
            value={provider}
            onChange={setProvider}
            problem={violationOf(failure, 'parent')}
          />
          {chosen?.oidc?.groupsClaim === '' && (
            <p className="hint">
              This provider has no groups claim: Berth does not read groups from it until you set one.
            </p>
          )}
          <Field
            label="Group at the provider"
            value={group}
            onChange={setGroup}
            hint={`One value of the claim ${chosen?.oidc?.groupsClaim || 'with groups'}, exactly as the provider sends it.`}
            problem={violationOf(failure, 'externalGroupId')}
          />
          <RolePicker
            label="Role"
            organization={uid}
            value={role}
            onChange={setRole}
            hint="It applies in the whole organization."
            problem={violationOf(failure, 'roleUid')}
          />
          <Equivalent
            command={`berth iam group-mappings create --provider ${provider} --external-group ${quoted(group || 'GROUP')} --role ${role || 'ROLE'}`}
          />
        </>
      )}
    </FormDialog>
  )
}

interface DeleteMappingsDialogProps {
  readonly mappings: ReadonlySet<string>
  readonly onClose: () => void
  readonly onDeleted: () => void
}

function DeleteMappingsDialog({ mappings, onClose, onDeleted }: DeleteMappingsDialogProps) {
  const count = plural(mappings.size, 'mapping')
  return (
    <ConfirmDialog
      title={`Delete ${count}?`}
      action={`Delete ${count}`}
      isDangerous
      onClose={onClose}
      submit={async () => {
        // A batch is of one provider.
        const byProvider = Map.groupBy(mappings, parentOf)
        for (const [parent, names] of byProvider)
          await api.externalGroupRoleMappings.batchDelete({ parent, names })
        onDeleted()
        await refreshAccess()
      }}
    >
      <p>Members of these groups lose the role immediately, unless they have it otherwise.</p>
      {[...mappings].slice(0, 1).map((uid) => (
        <Equivalent key={uid} command={`berth iam group-mappings delete ${uid} --yes`} />
      ))}
    </ConfirmDialog>
  )
}
