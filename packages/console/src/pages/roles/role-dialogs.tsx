import type { Capability, Role, RoleUse } from '@berth/client'
import { useState } from 'react'
import { refreshAccess } from '../../api/access-changes.ts'
import { api } from '../../api/client.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { violationOf } from '../../api/query-client.ts'
import { DeleteDialog, FormDialog } from '../../components/form-dialog.tsx'
import { NameFields } from '../../components/name-fields.tsx'
import { plural } from '../../components/quantity.tsx'
import { CapabilityChoice } from './capability-list.tsx'

/** Dialogs that create, edit and delete custom roles. */

interface RoleFormProps {
  readonly title: string
  readonly action: string
  readonly initial: Pick<Role, 'name' | 'description' | 'capabilities'>
  readonly onClose: () => void
  readonly save: (role: Pick<Role, 'name' | 'description' | 'capabilities'>) => Promise<unknown>
  readonly reload?: () => Promise<unknown>
}

function RoleForm({ title, action, initial, onClose, save, reload }: RoleFormProps) {
  const [naming, setNaming] = useState({ name: initial.name, description: initial.description })
  const [chosen, setChosen] = useState<ReadonlySet<Capability>>(new Set(initial.capabilities))
  return (
    <FormDialog
      title={title}
      action={action}
      isDisabled={naming.name === '' || chosen.size === 0}
      entered={{ naming, chosen: [...chosen].sort() }}
      onClose={onClose}
      {...(reload !== undefined && { reload })}
      submit={async () => {
        await save({ ...naming, capabilities: [...chosen] })
        await refreshAccess()
      }}
    >
      {(failure) => (
        <>
          <NameFields
            value={naming}
            onChange={setNaming}
            hint="Lowercase letters, digits, spaces, and . _ -"
            failure={failure}
          />
          <CapabilityChoice
            chosen={chosen}
            onChange={setChosen}
            problem={violationOf(failure, 'capabilities')}
          />
        </>
      )}
    </FormDialog>
  )
}

const empty = { name: '', description: '', capabilities: [] }

export function CreateRoleDialog({ uid, onClose }: { readonly uid: string; readonly onClose: () => void }) {
  return (
    <RoleForm
      title="Create a role"
      action="Create the role"
      initial={empty}
      onClose={onClose}
      save={(role) => api.roles.create(uid, role)}
    />
  )
}

interface RoleDialogProps {
  readonly role: Versioned<Role>
  readonly onClose: () => void
}

export function EditRoleDialog({ role, onClose }: RoleDialogProps) {
  const { uid } = role.value
  // The version that the user edits: a conflict must not go unnoticed because the page was refreshed meanwhile.
  const [{ value, etag }, setEdited] = useState(role)
  return (
    <RoleForm
      key={etag}
      title="Edit the role"
      action="Save"
      initial={value}
      onClose={onClose}
      reload={async () => setEdited(await api.roles.get(uid).withResponse())}
      save={(changed) => api.roles.update(uid, changed, { ifMatch: etag })}
    />
  )
}

/** What uses a role and blocks its deletion, in words. */
export function blockersOf(use: RoleUse | undefined): readonly string[] {
  if (use === undefined) return []
  const counts = [
    [use.roleBindings, 'role binding'],
    [use.identityProviders, 'identity provider', 'identity providers'],
    [use.externalGroups, 'mapped group of an identity provider', 'mapped groups of identity providers'],
  ] as const
  return counts.filter(([n]) => n > 0).map(([n, one, many]) => plural(n, one, many))
}

export function DeleteRoleDialog({
  role: { value },
  use,
  onClose,
  onDeleted,
}: RoleDialogProps & { readonly use: RoleUse | undefined; readonly onDeleted: () => void }) {
  return (
    <DeleteDialog
      kind="role"
      name={value.name}
      onClose={onClose}
      submit={async () => {
        await api.roles.delete(value.uid)
        onDeleted()
        await refreshAccess()
      }}
    >
      {blockersOf(use).length > 0
        ? `It is used by ${blockersOf(use).join(', ')}: the server does not delete it before these are removed.`
        : (use?.invites ?? 0) > 0
          ? `${plural(use?.invites ?? 0, 'open invite')} for it can no longer be accepted.`
          : 'No one has it.'}
    </DeleteDialog>
  )
}
