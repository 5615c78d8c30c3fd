import type { Identity, RoleBinding } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { refreshAccess } from '../../api/access-changes.ts'
import { api } from '../../api/client.ts'
import { organizationOf, parentOf } from '../../api/queries/groups.ts'
import { rolesOfIdentityQuery } from '../../api/queries/iam/identities.ts'
import { violationOf } from '../../api/query-client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Equivalent } from '../../components/copy.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { PageList } from '../../components/page-list.tsx'
import { FolderPicker, RolePicker } from '../../components/pickers.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'

/** The roles of an identity, and in which folders it has them. */
export function RolesTab({ identity }: { readonly identity: Identity }) {
  const { uid } = identity
  const folder = parentOf(uid)
  const access = useAccess()
  const [dialog, setDialog] = useState<'grant' | RoleBinding | undefined>()
  const close = () => setDialog(undefined)
  return (
    <>
      {folder !== '' && (
        <div className="tab-actions">
          <ActionButton
            label="Grant a role"
            missing={access.missing(folder, 'role_bindings.create')}
            onPress={() => setDialog('grant')}
          />
        </div>
      )}
      <PageList
        label="Roles"
        query={rolesOfIdentityQuery(uid)}
        missing={folder === '' ? undefined : access.missing(folder, 'role_bindings.list')}
        keyOf={(binding) => binding.uid}
        columns={[
          {
            id: 'role',
            title: 'Role',
            cell: ({ role, roleUid }) => (
              <Link to="/roles/$" params={{ _splat: roleUid }}>
                {role?.name || roleUid}
              </Link>
            ),
          },
          {
            id: 'folder',
            title: 'In',
            cell: ({ uid: binding, group }) => (
              <Link to="/folders/$" params={{ _splat: parentOf(binding) }}>
                {group?.name || parentOf(binding)}
              </Link>
            ),
          },
          { id: 'granted', title: 'Granted', cell: ({ createTime }) => <Time value={createTime} /> },
          {
            id: 'actions',
            title: 'Actions',
            cell: (binding) => (
              <RowAction
                label="Revoke"
                object={`the role ${binding.role?.name || binding.roleUid} in ${binding.group?.name || 'a folder'}`}
                missing={access.missing(parentOf(binding.uid), 'role_bindings.delete')}
                onPress={() => setDialog(binding)}
              />
            ),
          },
        ]}
        empty={
          <p>
            This identity has no roles that you can see. Without a role, its tokens permit nothing. Grant one,
            for example registry.push.
          </p>
        }
      />
      <Equivalent command={`berth iam role-bindings list --identity ${uid}`} />
      {dialog === 'grant' && <GrantDialog identity={identity} onClose={close} />}
      {dialog !== undefined && dialog !== 'grant' && <RevokeDialog binding={dialog} onClose={close} />}
    </>
  )
}

function GrantDialog({ identity, onClose }: { readonly identity: Identity; readonly onClose: () => void }) {
  const organization = organizationOf(identity.uid)
  const [folder, setFolder] = useState(parentOf(identity.uid))
  const [roleUid, setRole] = useState('')
  return (
    <FormDialog
      title="Grant a role"
      action="Grant the role"
      isDisabled={folder === '' || roleUid === ''}
      entered={{ folder, roleUid }}
      onClose={onClose}
      submit={async () => {
        await api.roleBindings.create(folder, { identityUid: identity.uid, roleUid })
        await refreshAccess()
      }}
    >
      {(failure) => (
        <>
          <RolePicker
            label="Role"
            organization={organization}
            value={roleUid}
            onChange={setRole}
            problem={violationOf(failure, 'roleUid')}
          />
          <FolderPicker
            label="In"
            hint="The role applies to this folder and everything below."
            organization={organization}
            value={folder}
            onChange={setFolder}
          />
        </>
      )}
    </FormDialog>
  )
}

function RevokeDialog({ binding, onClose }: { readonly binding: RoleBinding; readonly onClose: () => void }) {
  return (
    <ConfirmDialog
      title="Revoke the role"
      action="Revoke the role"
      isDangerous
      onClose={onClose}
      submit={async () => {
        await api.roleBindings.delete(binding.uid)
        await refreshAccess()
      }}
    >
      <p>
        The identity loses the role {binding.role?.name || binding.roleUid} in{' '}
        {binding.group?.name || 'the folder'} and in everything below, from the next request on.
      </p>
    </ConfirmDialog>
  )
}
