import type { GroupInvite } from '@berth/client'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { NOT_FOUND } from '../../api/http-status.ts'
import { organizationOf } from '../../api/queries/groups.ts'
import { hasStatus, queryClient, violationOf } from '../../api/query-client.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Field, SelectField, SwitchField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { RolePicker } from '../../components/pickers.tsx'

/** Dialogs that create, send and revoke invites. */

const lifetimes = [
  { id: '86400s', name: '1 day', flag: '24h' },
  { id: '604800s', name: '7 days', flag: '7d' },
  { id: '2592000s', name: '30 days', flag: '30d' },
] as const
const DEFAULT_LIFETIME = '604800s'

interface DialogProps {
  readonly uid: string
  readonly onClose: () => void
}

const refresh = (uid: string) => queryClient.invalidateQueries({ queryKey: ['invites', uid] })

export function InviteDialog({
  uid,
  path,
  onClose,
  onCreated,
}: DialogProps & { readonly path: string; readonly onCreated: (invite: GroupInvite) => void }) {
  const [roleUid, setRole] = useState('')
  const [email, setEmail] = useState('')
  const [ttl, setTtl] = useState<string>(DEFAULT_LIFETIME)
  const [singleUse, setSingleUse] = useState(true)
  return (
    <FormDialog
      title="Create an invite"
      action="Create the invite"
      isDisabled={roleUid === ''}
      entered={{ roleUid, email, ttl, singleUse }}
      onClose={onClose}
      submit={async () => {
        onCreated(await api.groupInvites.create(uid, { roleUid, email: email.trim(), ttl, singleUse }))
        await refresh(uid)
      }}
    >
      {(failure) => (
        <>
          <RolePicker
            label="Role"
            organization={organizationOf(uid)}
            value={roleUid}
            onChange={setRole}
            problem={violationOf(failure, 'roleUid')}
          />
          <Field
            label="Email address (optional)"
            type="email"
            hint="Only a user with this verified address can accept. Empty: anyone with the link."
            value={email}
            onChange={setEmail}
            problem={violationOf(failure, 'email')}
          />
          <SelectField
            label="Expires after"
            choices={lifetimes}
            value={ttl}
            onChange={setTtl}
            problem={violationOf(failure, 'ttl')}
          />
          <SwitchField isSelected={singleUse} onChange={setSingleUse}>
            Can be accepted once only
          </SwitchField>
          {roleUid !== '' && (
            <Equivalent command={commandOf({ path, roleUid, email: email.trim(), ttl, singleUse })} />
          )}
        </>
      )}
    </FormDialog>
  )
}

function commandOf(invite: {
  readonly path: string
  readonly roleUid: string
  readonly email: string
  readonly ttl: string
  readonly singleUse: boolean
}): string {
  const { path, roleUid, email, ttl, singleUse } = invite
  const flag = lifetimes.find(({ id }) => id === ttl)?.flag ?? ''
  return [
    `berth iam invites create ${quoted(path)} --role ${roleUid} --ttl ${flag}`,
    email === '' ? '' : ` --email ${quoted(email)}`,
    singleUse ? ' --single-use' : '',
  ].join('')
}

export function RevokeInviteDialog({ uid, invite, onClose }: DialogProps & { readonly invite: GroupInvite }) {
  return (
    <ConfirmDialog
      title="Revoke the invite"
      action="Revoke the invite"
      isDangerous
      onClose={onClose}
      submit={async () => {
        await api.groupInvites.delete(invite.uid)
        await refresh(uid)
      }}
    >
      <p>Its link can no longer be used. Users who accepted it keep their role.</p>
    </ConfirmDialog>
  )
}

/** A new invite, because the code of the old one is not stored; then the old one is revoked. */
export function SendAgainDialog({
  uid,
  invite,
  onClose,
  onCreated,
}: DialogProps & { readonly invite: GroupInvite; readonly onCreated: (invite: GroupInvite) => void }) {
  const { roleUid, email, singleUse } = invite
  /** Another attempt only revokes: each new invite is another email. */
  const [isSent, setSent] = useState(false)
  return (
    <ConfirmDialog
      title="Send the invite again"
      action={isSent ? 'Revoke the old invite' : 'Send again'}
      onClose={onClose}
      submit={async () => {
        try {
          if (!isSent) {
            const request = { roleUid, email, singleUse, ttl: DEFAULT_LIFETIME }
            onCreated(await api.groupInvites.create(uid, request))
            setSent(true)
          }
          await api.groupInvites.delete(invite.uid).catch((failure: unknown) => {
            // It was accepted or revoked in the meantime.
            if (!hasStatus(failure, NOT_FOUND)) throw failure
          })
        } finally {
          await refresh(uid)
        }
      }}
    >
      {isSent ? (
        <p>
          Berth sends a new link to <bdi>{email}</bdi>. The link that was sent before can still be used until
          its invite is revoked.
        </p>
      ) : (
        <p>
          Berth sends a new link to <bdi>{email}</bdi>, which expires in 7 days. The link that was sent before
          can no longer be used.
        </p>
      )}
    </ConfirmDialog>
  )
}
