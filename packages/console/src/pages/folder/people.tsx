import type { GroupInvite, RoleBinding } from '@berth/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button, Switch } from 'react-aria-components'
import { type Access, useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { ancestorsQuery, bindingsQuery, invitesQuery, organizationOf, rolesQuery } from '../../api/queries.ts'
import { messageOf, violationOf } from '../../api/query-client.ts'
import { session } from '../../api/session.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Command, Equivalent, quoted } from '../../components/copy.tsx'
import { Field, SelectField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Time } from '../../components/time.tsx'

/** Who has roles in a folder, and who is invited. */

interface PeopleProps {
  readonly uid: string
  readonly name: string
}

type OpenDialog =
  | { readonly kind: 'grant' }
  | { readonly kind: 'invite' }
  | { readonly kind: 'revoke'; readonly binding: RoleBinding }
  | { readonly kind: 'withdraw'; readonly invite: GroupInvite }

export function People({ uid, name }: PeopleProps) {
  const access = useAccess()
  const path = usePath(uid, name)
  const [dialog, setDialog] = useState<OpenDialog | undefined>()
  const [link, setLink] = useState('')
  const close = () => setDialog(undefined)
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Invite"
          missing={access.missing(uid, 'group_invites.create')}
          onPress={() => setDialog({ kind: 'invite' })}
        />
        <ActionButton
          label="Grant a role"
          isQuiet
          missing={access.missing(uid, 'role_bindings.create')}
          onPress={() => setDialog({ kind: 'grant' })}
        />
      </div>
      {link !== '' && (
        <div className="notice" role="status">
          <p>The invite is created. Send this link; it is shown only now:</p>
          <Command text={link} label="the invite link" />
        </div>
      )}
      <PageList
        label="Roles"
        query={bindingsQuery(uid)}
        missing={access.missing(uid, 'role_bindings.list')}
        keyOf={(binding) => binding.uid}
        columns={[
          { id: 'identity', title: 'Who', cell: (binding) => <Who binding={binding} /> },
          { id: 'role', title: 'Role', cell: ({ role, roleUid }) => role?.name ?? roleUid },
          { id: 'since', title: 'Since', cell: ({ createTime }) => <Time value={createTime} /> },
          {
            id: 'actions',
            title: 'Actions',
            cell: (binding) => (
              <RowAction
                label="Revoke"
                object={`the role of ${nameOf(binding)}`}
                missing={access.missing(uid, 'role_bindings.delete')}
                onPress={() => setDialog({ kind: 'revoke', binding })}
              />
            ),
          },
        ]}
        empty={<p>No one has a role in this folder itself.</p>}
      />
      <Inherited uid={uid} />
      <Invites uid={uid} access={access} onWithdraw={(invite) => setDialog({ kind: 'withdraw', invite })} />
      <Equivalent command={`berth iam role-bindings list --parent ${quoted(path)}`} />
      {dialog?.kind === 'grant' && <GrantDialog uid={uid} onClose={close} />}
      {dialog?.kind === 'invite' && <InviteDialog uid={uid} onClose={close} onCreated={setLink} />}
      {dialog?.kind === 'revoke' && <RevokeDialog binding={dialog.binding} uid={uid} onClose={close} />}
      {dialog?.kind === 'withdraw' && <WithdrawDialog invite={dialog.invite} uid={uid} onClose={close} />}
    </>
  )
}

function nameOf({ identity, identityUid }: RoleBinding): string {
  return identity?.name || identity?.email || identityUid
}

function Who({ binding }: { readonly binding: RoleBinding }) {
  const { identity, identityUid } = binding
  return (
    <>
      {nameOf(binding)}
      {identityUid === session.identity && ' (you)'}
      <span className="second">{identity?.email || identity?.subject || identityUid}</span>
    </>
  )
}

function RowAction({
  label,
  object,
  missing,
  onPress,
}: {
  readonly label: string
  readonly object: string
  readonly missing: string | undefined
  readonly onPress: () => void
}) {
  if (missing !== undefined) return <span className="hint">{missing}</span>
  return (
    <Button className="link" aria-label={`${label} ${object}`} onPress={onPress}>
      {label}
    </Button>
  )
}

/** Where else roles come from. */
function Inherited({ uid }: { readonly uid: string }) {
  const { data: ancestors = [] } = useQuery(ancestorsQuery(uid))
  if (ancestors.length === 0) return null
  return (
    <p className="muted note">
      Roles in these folders apply here too:{' '}
      {ancestors.map((folder, index) => (
        <span key={folder.uid}>
          {index > 0 && ', '}
          <Link to="/folders/$" params={{ _splat: folder.uid }} search={{ tab: 'people' }}>
            {folder.name}
          </Link>
        </span>
      ))}
    </p>
  )
}

function Invites({
  uid,
  access,
  onWithdraw,
}: {
  readonly uid: string
  readonly access: Access
  readonly onWithdraw: (invite: GroupInvite) => void
}) {
  return (
    <section>
      <h2>Invites</h2>
      <PageList
        label="Invites"
        query={invitesQuery(uid)}
        missing={access.missing(uid, 'group_invites.list')}
        keyOf={(invite) => invite.uid}
        columns={[
          { id: 'email', title: 'For', cell: ({ email }) => email || 'anyone with the link' },
          { id: 'role', title: 'Role', cell: ({ role, roleUid }) => role?.name ?? roleUid },
          { id: 'expires', title: 'Expires', cell: ({ expirationTime }) => <Time value={expirationTime} /> },
          { id: 'use', title: 'Use', cell: ({ singleUse }) => (singleUse ? 'once' : 'several times') },
          {
            id: 'actions',
            title: 'Actions',
            cell: (invite) => (
              <RowAction
                label="Revoke"
                object={`the invite for ${invite.email || 'anyone'}`}
                missing={access.missing(uid, 'group_invites.delete')}
                onPress={() => onWithdraw(invite)}
              />
            ),
          },
        ]}
        empty={<p>There are no invites. An invite gives a role to a person who signs in with its link.</p>}
      />
    </section>
  )
}

interface DialogProps {
  readonly uid: string
  readonly onClose: () => void
}

function GrantDialog({ uid, onClose }: DialogProps) {
  const queries = useQueryClient()
  const [identityUid, setIdentity] = useState('')
  const [roleUid, setRole] = useState('')
  return (
    <FormDialog
      title="Grant a role"
      action="Grant the role"
      isDisabled={identityUid.trim() === '' || roleUid === ''}
      onClose={onClose}
      submit={async () => {
        await api.roleBindings.create(uid, { identityUid: identityUid.trim(), roleUid })
        await queries.invalidateQueries({ queryKey: ['bindings', uid] })
        await queries.invalidateQueries({ queryKey: ['who-am-i'] })
      }}
    >
      {(failure) => (
        <>
          <Field
            label="Uid of the identity"
            hint="Of a workload, from the tab Identities, or of a user. To add a person by email, invite them."
            value={identityUid}
            onChange={setIdentity}
            problem={violationOf(failure, 'identityUid')}
            isFirst
          />
          <RoleField uid={uid} value={roleUid} onChange={setRole} problem={violationOf(failure, 'roleUid')} />
        </>
      )}
    </FormDialog>
  )
}

const lifetimes = [
  { id: '86400s', name: '1 day' },
  { id: '604800s', name: '7 days' },
  { id: '2592000s', name: '30 days' },
] as const
const DEFAULT_LIFETIME = '604800s'

function InviteDialog({
  uid,
  onClose,
  onCreated,
}: DialogProps & { readonly onCreated: (link: string) => void }) {
  const queries = useQueryClient()
  const [roleUid, setRole] = useState('')
  const [email, setEmail] = useState('')
  const [ttl, setTtl] = useState<string>(DEFAULT_LIFETIME)
  const [singleUse, setSingleUse] = useState(true)
  return (
    <FormDialog
      title="Invite"
      action="Create the invite"
      isDisabled={roleUid === ''}
      onClose={onClose}
      submit={async () => {
        const { link } = await api.groupInvites.create(uid, { roleUid, email: email.trim(), ttl, singleUse })
        onCreated(link)
        await queries.invalidateQueries({ queryKey: ['invites', uid] })
      }}
    >
      {(failure) => (
        <>
          <RoleField uid={uid} value={roleUid} onChange={setRole} problem={violationOf(failure, 'roleUid')} />
          <Field
            label="Email (optional)"
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
          <Switch className="switch" isSelected={singleUse} onChange={setSingleUse}>
            <span className="switch-track" aria-hidden />
            Can be accepted once only
          </Switch>
        </>
      )}
    </FormDialog>
  )
}

function RoleField({
  uid,
  ...props
}: {
  readonly uid: string
  readonly value: string
  readonly onChange: (uid: string) => void
  readonly problem: string | undefined
}) {
  const { data: roles = [], error } = useQuery(rolesQuery(organizationOf(uid)))
  const choices = roles.map(({ uid: id, name, description }) => ({ id, name, description }))
  return (
    <>
      <SelectField label="Role" choices={choices} {...props} />
      {error !== null && <p className="error">Roles are not available. {messageOf(error)}</p>}
    </>
  )
}

function RevokeDialog({ binding, uid, onClose }: DialogProps & { readonly binding: RoleBinding }) {
  const queries = useQueryClient()
  return (
    <FormDialog
      title="Revoke the role"
      action="Revoke the role"
      isDangerous
      onClose={onClose}
      submit={async () => {
        await api.roleBindings.delete(binding.uid)
        await queries.invalidateQueries({ queryKey: ['bindings', uid] })
        await queries.invalidateQueries({ queryKey: ['who-am-i'] })
      }}
    >
      {() => (
        <p>
          {nameOf(binding)} loses the role {binding.role?.name ?? binding.roleUid} here and in everything
          below, from the next request on.
        </p>
      )}
    </FormDialog>
  )
}

function WithdrawDialog({ invite, uid, onClose }: DialogProps & { readonly invite: GroupInvite }) {
  const queries = useQueryClient()
  return (
    <FormDialog
      title="Revoke the invite"
      action="Revoke the invite"
      isDangerous
      onClose={onClose}
      submit={async () => {
        await api.groupInvites.delete(invite.uid)
        await queries.invalidateQueries({ queryKey: ['invites', uid] })
      }}
    >
      {() => <p>Its link can no longer be used. Users who accepted it keep their role.</p>}
    </FormDialog>
  )
}
