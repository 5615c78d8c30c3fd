import type { AccountLink, OperatorAccount } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { AddressState } from '../../address-query.ts'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { accountsQuery } from '../../api/queries/operator.ts'
import { violationOf } from '../../api/query-client.ts'
import { session } from '../../api/session.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge } from '../../components/badge.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { CheckboxField, Field } from '../../components/field.tsx'
import { FilterBar, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import { plural } from '../../components/quantity.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Secret } from '../../components/secret.tsx'
import { Time } from '../../components/time.tsx'
import { ChangeDialog } from './change-dialog.tsx'

/** Users of the installation, and their local accounts. */

type Change = 'reset' | 'suspend' | 'activate' | 'delete'
type OpenDialog = 'create' | { readonly change: Change; readonly account: OperatorAccount }

const PROVIDER = 'ACCOUNT_KIND_PROVIDER'

export function Accounts() {
  const [state] = useAddressState()
  const { kind = '' } = state
  const access = useAccess()
  const queries = useQueryClient()
  const missing = access.missing('', 'operator.update')
  const [dialog, setDialog] = useState<OpenDialog | undefined>()
  /** One whose dialog is closed already does not replace another one, which is shown only once. */
  const [links, setLinks] = useState<readonly AccountLink[]>([])
  const show = (link: AccountLink) => setLinks((shown) => [link, ...shown])
  const close = () => setDialog(undefined)
  const refresh = () => queries.invalidateQueries({ queryKey: ['operator'] })
  return (
    <>
      <div className="tab-actions">
        <ActionButton label="Create an account" missing={missing} onPress={() => setDialog('create')} />
      </div>
      {links.map(({ link, localAccount, expireTime }) => (
        <Secret key={link} text={link} label="the link">
          Send this link to {localAccount?.email}, to choose a password. It works once, until{' '}
          <Time value={expireTime} />.
        </Secret>
      ))}
      <FilterBar>
        <TextFilter label="Search" name="q" placeholder="Name, email or uid" />
        <SelectFilter
          label="Sign-in"
          name="kind"
          choices={[
            { id: 'ACCOUNT_KIND_LOCAL', name: 'Local account' },
            { id: PROVIDER, name: 'Identity provider' },
          ]}
        />
        <SelectFilter label="State" name="suspended" choices={[{ id: 'yes', name: 'Suspended' }]} />
      </FilterBar>
      <PageList
        label="Accounts"
        query={accountsQuery(state)}
        keyOf={({ uid }) => uid}
        columns={[
          { id: 'user', title: 'User', cell: (account) => <User account={account} /> },
          { id: 'method', title: 'Signs in with', cell: (account) => methodOf(account) },
          {
            id: 'second',
            title: 'Second factor',
            cell: ({ passkeyRequired, kind }) =>
              kind !== 'ACCOUNT_KIND_LOCAL' ? '' : passkeyRequired ? 'passkey' : 'none',
          },
          {
            id: 'last',
            title: 'Last sign-in',
            cell: ({ lastSignInTime }) => <Time value={lastSignInTime} absent="unknown" isRelative />,
          },
          { id: 'sessions', title: 'Sessions', cell: (account) => <SessionsLink account={account} /> },
          {
            id: 'actions',
            title: 'Actions',
            cell: (account) => (
              <Actions
                account={account}
                missing={missing}
                onChange={(change) => setDialog({ change, account })}
              />
            ),
          },
        ]}
        empty={<p>No users match. Remove a filter, or create an account.</p>}
      />
      {kind !== PROVIDER && <Equivalent command={listCommandOf(state)} />}
      {dialog === 'create' && <CreateDialog onClose={close} onCreated={show} refresh={refresh} />}
      {typeof dialog === 'object' && (
        <AccountDialog {...dialog} onClose={close} onLink={show} refresh={refresh} />
      )}
    </>
  )
}

/** The command lists local accounts, and filters one column at a time. */
function listCommandOf({ q = '', suspended = '' }: AddressState): string {
  const column = q.includes('@') ? 'email' : /^[0-9a-f]{16,}/.test(q) ? 'identity' : 'name'
  return [
    'berth admin accounts list',
    ...(q === '' ? [] : [`--filter ${quoted(`${column}~${q}`)}`]),
    ...(suspended === 'yes' ? ['--filter state=disabled'] : []),
  ].join(' ')
}

function User({ account }: { readonly account: OperatorAccount }) {
  const { uid, name, email, suspended, operator } = account
  return (
    <>
      <span className="named">
        <Link to="/identities/$" params={{ _splat: uid }} search={{}}>
          {name || email || uid}
        </Link>
        {uid === session.identity && '(you)'}
        {operator && <Badge title="Has a role on the platform">operator</Badge>}
        {suspended && <Badge tone="bad">suspended</Badge>}
      </span>
      <span className="second one-line" title={email || uid}>
        {email || uid}
      </span>
    </>
  )
}

function methodOf({ kind, issuer, hasPassword, passkeyCount }: OperatorAccount): string {
  if (kind === 'ACCOUNT_KIND_PROVIDER') return issuer
  if (kind !== 'ACCOUNT_KIND_LOCAL') return 'nothing; berth admin token acts as it'
  const methods = [
    ...(hasPassword ? ['password'] : []),
    ...(passkeyCount > 0 ? [plural(passkeyCount, 'passkey')] : []),
  ]
  return methods.join(', ') || 'none'
}

function SessionsLink({ account: { uid, name, sessionCount } }: { readonly account: OperatorAccount }) {
  if (sessionCount === 0) return '0'
  return (
    <Link
      to="/operator"
      search={{ tab: 'sessions', identity: uid }}
      aria-label={`${plural(sessionCount, 'session')} of ${name || uid}`}
    >
      {sessionCount}
    </Link>
  )
}

interface ActionsProps {
  readonly account: OperatorAccount
  readonly missing: string | undefined
  readonly onChange: (change: Change) => void
}

function Actions({ account, missing, onChange }: ActionsProps) {
  const { kind, suspended, uid, email, name } = account
  if (kind !== 'ACCOUNT_KIND_LOCAL') return null
  const isOwn = uid === session.identity
  const status = suspended ? (['activate', 'Activate'] as const) : (['suspend', 'Suspend'] as const)
  const ofOthers: readonly (readonly [Change, string])[] = [status, ['delete', 'Delete']]
  const changes: readonly (readonly [Change, string])[] = [
    ['reset', 'Reset password'],
    ...(isOwn ? [] : ofOthers),
  ]
  return (
    <span className="action">
      {changes.map(([change, label]) => (
        <RowAction
          key={change}
          label={label}
          object={`the account of ${name || email}`}
          missing={missing}
          onPress={() => onChange(change)}
        />
      ))}
    </span>
  )
}

interface DialogProps {
  readonly onClose: () => void
  readonly refresh: () => Promise<unknown>
}

function CreateDialog({
  onClose,
  onCreated,
  refresh,
}: DialogProps & { readonly onCreated: (link: AccountLink) => void }) {
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  return (
    <ChangeDialog
      title="Create an account"
      action="Create the account"
      isDisabled={email.trim() === ''}
      entered={{ email, name }}
      onClose={onClose}
      submit={async () => {
        onCreated(await api.operatorAccounts.createAccount({ email, name }))
        await refresh()
      }}
    >
      {(failure) => (
        <>
          <p>
            You get a link that its user chooses a password with. The account has no access until someone
            grants it a role.
          </p>
          <Field
            label="Email"
            type="email"
            value={email}
            onChange={setEmail}
            problem={violationOf(failure, 'email')}
            isRequired
            isFirst
          />
          <Field label="Name" value={name} onChange={setName} problem={violationOf(failure, 'name')} />
          <Equivalent
            command={`berth admin accounts create ${quoted(email || 'ada@example.com')}${name === '' ? '' : ` --name ${quoted(name)}`}`}
          />
        </>
      )}
    </ChangeDialog>
  )
}

const texts: Readonly<Record<Change, readonly [title: string, text: string, command: string]>> = {
  reset: [
    'Reset the password',
    'removes the password and ends all sessions. You get a link to choose a new one.',
    'reset-password',
  ],
  suspend: [
    'Suspend the account',
    'ends all sessions. The user cannot sign in until you activate it.',
    'disable',
  ],
  activate: ['Activate the account', 'lets the user sign in again.', 'enable'],
  delete: ['Delete the account', 'deletes the identity and all its access. It cannot be undone.', 'delete'],
}

interface AccountDialogProps extends DialogProps {
  readonly change: Change
  readonly account: OperatorAccount
  readonly onLink: (link: AccountLink) => void
}

function AccountDialog({ change, account, onClose, onLink, refresh }: AccountDialogProps) {
  const { uid, email } = account
  const [removePasskeys, setRemovePasskeys] = useState(false)
  const [typed, setTyped] = useState('')
  const [title, text, command] = texts[change]
  const run: Readonly<Record<Change, () => Promise<unknown>>> = {
    reset: async () => onLink(await api.operatorAccounts.resetAccountPassword({ uid, removePasskeys })),
    suspend: () => api.operatorAccounts.suspendAccount({ uid }),
    activate: () => api.operatorAccounts.activateAccount({ uid }),
    delete: () => api.operatorAccounts.deleteAccount(uid),
  }
  return (
    <ChangeDialog
      title={title}
      action={title}
      isDangerous={change !== 'activate'}
      isDisabled={change === 'delete' && typed !== email}
      entered={{ removePasskeys }}
      onClose={onClose}
      submit={async () => {
        await run[change]()
        await refresh()
      }}
    >
      <p>
        For <strong>{email}</strong>: this {text}
      </p>
      {change === 'reset' && (
        <CheckboxField isSelected={removePasskeys} onChange={setRemovePasskeys}>
          Also remove the passkeys
        </CheckboxField>
      )}
      {change === 'delete' && (
        <Field label={`Type ${email} to confirm`} value={typed} onChange={setTyped} isFirst />
      )}
      <Equivalent
        command={`berth admin accounts ${command} ${quoted(email)}${removePasskeys ? ' --passkeys' : ''}`}
      />
    </ChangeDialog>
  )
}
