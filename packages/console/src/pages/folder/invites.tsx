import type { GroupInvite } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { acceptancesQuery, invitesQuery } from '../../api/queries/iam/access.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge } from '../../components/badge.tsx'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { PageList } from '../../components/page-list.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Secret } from '../../components/secret.tsx'
import { Time } from '../../components/time.tsx'
import type { FolderTabProps } from './folder.tsx'
import { InviteDialog, RevokeInviteDialog, SendAgainDialog } from './invites-dialogs.tsx'
import '../../styles/pages/access.css'

/** Invites of a folder: links that grant a role to who accepts them. */

type OpenDialog =
  | { readonly kind: 'create' }
  | { readonly kind: 'revoke' | 'again'; readonly invite: GroupInvite }

export function Invites({ uid, name }: FolderTabProps) {
  const access = useAccess()
  const path = usePath(uid, name)
  const [dialog, setDialog] = useState<OpenDialog | undefined>()
  /** One whose dialog is closed already does not replace another one, whose link is shown only once. */
  const [created, setCreated] = useState<readonly GroupInvite[]>([])
  const show = (invite: GroupInvite) => setCreated((shown) => [invite, ...shown])
  const close = () => setDialog(undefined)
  const [canCreate, canDelete] = ['group_invites.create', 'group_invites.delete'].map((capability) =>
    access.missing(uid, capability),
  )
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Create an invite"
          missing={canCreate}
          onPress={() => setDialog({ kind: 'create' })}
        />
      </div>
      {created.map((invite) => (
        <Created key={invite.uid} invite={invite} />
      ))}
      <PageList
        label="Invites"
        query={invitesQuery(uid)}
        missing={access.missing(uid, 'group_invites.list')}
        keyOf={(invite) => invite.uid}
        columns={[
          { id: 'email', title: 'For', cell: ({ email }) => <bdi>{email || 'anyone with the link'}</bdi> },
          { id: 'role', title: 'Role', cell: ({ role }) => role?.name ?? 'deleted role' },
          { id: 'state', title: 'State', cell: (invite) => <State invite={invite} /> },
          {
            id: 'expires',
            title: 'Expires',
            cell: ({ expirationTime }) => <Time value={expirationTime} isRelative />,
          },
          { id: 'use', title: 'Use', cell: ({ singleUse }) => (singleUse ? 'once' : 'several times') },
          {
            id: 'actions',
            title: 'Actions',
            cell: (invite) => (
              <span className="row-actions">
                {canCreate === undefined && canDelete === undefined && invite.mail !== undefined && (
                  <RowAction
                    label="Send again"
                    object={objectOf(invite)}
                    onPress={() => setDialog({ kind: 'again', invite })}
                  />
                )}
                <RowAction
                  label="Revoke"
                  object={objectOf(invite)}
                  missing={canDelete}
                  onPress={() => setDialog({ kind: 'revoke', invite })}
                />
              </span>
            ),
          },
        ]}
        empty={
          <p>
            There are no open invites. An invite grants a role to a person who signs in with its link. An
            invite that can be accepted once disappears when it is accepted.
          </p>
        }
      />
      <Accepted uid={uid} />
      <Equivalent command={`berth iam invites list --parent ${quoted(path)}`} />
      {dialog?.kind === 'create' && <InviteDialog uid={uid} path={path} onClose={close} onCreated={show} />}
      {dialog?.kind === 'revoke' && <RevokeInviteDialog uid={uid} invite={dialog.invite} onClose={close} />}
      {dialog?.kind === 'again' && (
        <SendAgainDialog uid={uid} invite={dialog.invite} onClose={close} onCreated={show} />
      )}
    </>
  )
}

const objectOf = ({ email }: GroupInvite) => `the invite for ${email || 'anyone'}`

function Created({ invite: { link, code, email, mail } }: { readonly invite: GroupInvite }) {
  return (
    <Secret text={link || code} label="the invite link">
      <p>
        {mail !== undefined && mail.state !== 'STATE_FAILED'
          ? `The invite is created, and Berth sends an email with its own link to ${email}. This link works, too:`
          : email === ''
            ? 'The invite is created. Anyone who has this link can accept it:'
            : `The invite is created. Send this link to ${email}:`}
      </p>
    </Secret>
  )
}

/** Who accepted invites, as far as the user may read the audit log. */
function Accepted({ uid }: { readonly uid: string }) {
  const access = useAccess()
  const canRead = access.holds(uid, 'subscriptions.create')
  const { data } = useQuery({ ...acceptancesQuery(uid), enabled: canRead })
  if (data === undefined || data.length === 0) return null
  return (
    <section>
      <h2>Last accepted</h2>
      <PlainTable
        label="Accepted invites"
        items={data}
        keyOf={(one) => one.uid}
        columns={[
          { id: 'who', title: 'By', cell: ({ who }) => <bdi>{who}</bdi> },
          { id: 'path', title: 'In', cell: ({ path }) => <bdi>{path || 'a folder'}</bdi> },
          { id: 'time', title: 'When', cell: ({ time }) => <Time value={time} isRelative /> },
        ]}
      />
    </section>
  )
}

function State({ invite: { expirationTime, mail, role } }: { readonly invite: GroupInvite }) {
  const isExpired = expirationTime !== undefined && Date.parse(expirationTime) <= Date.now()
  return (
    <>
      {isExpired ? (
        <Badge>expired</Badge>
      ) : role === undefined ? (
        <Badge tone="bad" title="It cannot be accepted: its role was deleted.">
          cannot be accepted
        </Badge>
      ) : (
        <Badge tone="good">open</Badge>
      )}
      {mail?.state === 'STATE_QUEUED' && <Badge>email is being sent</Badge>}
      {mail?.state === 'STATE_SENT' && <Badge>email sent</Badge>}
      {mail?.state === 'STATE_FAILED' && (
        <>
          <Badge tone="bad">email failed</Badge>
          <span className="second">{mail.problem}</span>
        </>
      )}
    </>
  )
}
