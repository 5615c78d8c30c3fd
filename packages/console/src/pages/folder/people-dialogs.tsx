import type { Member } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { refreshAccess } from '../../api/access-changes.ts'
import { api } from '../../api/client.ts'
import { organizationOf } from '../../api/queries/groups.ts'
import { roleBindingQuery } from '../../api/queries/iam/members.ts'
import { violationOf } from '../../api/query-client.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { IdentityPicker } from '../../components/identity-picker.tsx'
import { RolePicker } from '../../components/pickers.tsx'
import { memberName } from '../access/members.tsx'

/** Dialogs that grant, change and revoke roles. */

export function AddDialog({ uid, onClose }: { readonly uid: string; readonly onClose: () => void }) {
  const [identityUid, setIdentity] = useState('')
  const [roleUid, setRole] = useState('')
  return (
    <FormDialog
      title="Grant a role"
      action="Grant the role"
      isDisabled={identityUid === '' || roleUid === ''}
      entered={{ identityUid, roleUid }}
      onClose={onClose}
      submit={async () => {
        await api.roleBindings.create(uid, { identityUid, roleUid })
        await refreshAccess()
      }}
    >
      {(failure) => (
        <>
          <IdentityPicker
            label="Person or workload"
            folder={uid}
            value={identityUid}
            onChange={setIdentity}
            hint="Finds workloads, and people who have a role in this organization. Invite all others by link or email."
            problem={violationOf(failure, 'identityUid')}
          />
          <RolePicker
            label="Role"
            organization={organizationOf(uid)}
            value={roleUid}
            onChange={setRole}
            hint="Applies here and in all folders below. A member can have several roles."
            problem={violationOf(failure, 'roleUid')}
          />
        </>
      )}
    </FormDialog>
  )
}

interface MemberDialogProps {
  readonly member: Member
  /** uid of the role binding. */
  readonly binding: string
  readonly onClose: () => void
}

export function ChangeDialog({
  member,
  binding,
  folder,
  onClose,
}: MemberDialogProps & { readonly folder: string }) {
  const [roleUid, setRole] = useState('')
  // The version that the user changes: reading it again in the background would hide a change of someone else.
  const { data, error, refetch } = useQuery({
    ...roleBindingQuery(binding),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    refetchOnWindowFocus: false,
  })
  const current = data?.value
  return (
    <FormDialog
      title={`Change the role of ${memberName(member)}`}
      action="Change the role"
      isDisabled={roleUid === '' || roleUid === current?.roleUid || (data === undefined && error !== null)}
      isLoading={data === undefined && error === null}
      entered={roleUid}
      onClose={onClose}
      submit={async () => {
        await api.roleBindings.update(binding, { roleUid }, { ifMatch: data?.etag })
        await refreshAccess()
      }}
      reload={() => refetch({ throwOnError: true })}
    >
      {(failure) => (
        <>
          {data === undefined && <Failure failure={error} />}
          <RolePicker
            label="Role"
            organization={organizationOf(folder)}
            value={roleUid}
            onChange={setRole}
            hint={`Now: ${current?.role?.name || member.role?.name}. The change applies from the next request on.`}
            problem={violationOf(failure, 'roleUid')}
          />
        </>
      )}
    </FormDialog>
  )
}

export function RemoveDialog({ member, binding, onClose }: MemberDialogProps) {
  const isGivenElsewhere = member.sources.length > 1
  return (
    <ConfirmDialog
      title="Revoke the role"
      action="Revoke the role"
      isDangerous
      onClose={onClose}
      submit={async () => {
        await api.roleBindings.delete(binding)
        await refreshAccess()
      }}
    >
      <p>
        <bdi>{memberName(member)}</bdi> loses the role {member.role?.name} here and in all folders below, from
        the next request on.
      </p>
      {isGivenElsewhere && (
        <p>The member has the same role from elsewhere, too: that one still applies here.</p>
      )}
    </ConfirmDialog>
  )
}
