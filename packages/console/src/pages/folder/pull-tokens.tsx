import type { Identity } from '@berth/client'
import { lastUse } from '@berth/workloads/identity-kinds.ts'
import type { PullToken } from '@berth/workloads/pull-tokens.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Fragment, useState } from 'react'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { parentOf } from '../../api/queries/groups.ts'
import { expiringPullTokensQuery, pullTokensQuery } from '../../api/queries/iam/pull-tokens.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge } from '../../components/badge.tsx'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { lazyPart } from '../../components/lazy-part.tsx'
import { PageList } from '../../components/page-list.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'
import { KeysExpiry } from '../identities/keys-expiry.tsx'
import type { FolderTabProps } from './folder.tsx'
import { Roles } from './identities.tsx'
import { CreatePullTokenDialog, RevokePullTokenDialog } from './pull-token-dialogs.tsx'

const NewPullToken = lazyPart(async () => (await import('./new-pull-token.tsx')).NewPullToken)

/** The pull tokens of a folder: user names and passwords of machines that pull without a sign-in. */
export function PullTokens({ uid, name }: FolderTabProps) {
  const [{ order = 'name' }, change] = useAddressState()
  const path = usePath(uid, name)
  const access = useAccess()
  const [dialog, setDialog] = useState<'create' | Identity | undefined>()
  /**
   * The passwords are here only, until the user leaves the page. One whose dialog is closed already does not replace another one.
   */
  const [created, setCreated] = useState<readonly PullToken[]>([])
  const hide = (identity: string) => setCreated((shown) => shown.filter((one) => one.identity !== identity))
  const close = () => setDialog(undefined)
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Create a pull token"
          missing={access.missing(uid, 'identity.create') ?? access.missing(uid, 'role_bindings.create')}
          onPress={() => setDialog('create')}
        />
      </div>
      {created.map((one) => (
        <NewPullToken key={one.identity} created={one} onClose={() => hide(one.identity)} />
      ))}
      <ExpiringBelow folder={uid} />
      <PageList
        label="Pull tokens"
        query={pullTokensQuery(uid, order)}
        missing={access.missing(uid, 'identity.list')}
        order={{ value: order, onChange: (next) => change({ order: next }) }}
        keyOf={({ identity }) => identity.uid}
        columns={[
          {
            id: 'name',
            title: 'Name',
            sortKey: 'name',
            cell: ({ identity }) => (
              <>
                <Link to="/identities/$" params={{ _splat: identity.uid }}>
                  {identity.name}
                </Link>
                {identity.description !== '' && <span className="second">{identity.description}</span>}
              </>
            ),
          },
          { id: 'state', title: 'State', cell: ({ identity }) => <State identity={identity} /> },
          { id: 'roles', title: 'Roles', cell: ({ roles }) => <Roles folder={uid} roles={roles} /> },
          {
            id: 'expires',
            title: 'Expires',
            sortKey: 'expiration_time',
            cell: ({ identity }) => <KeysExpiry identity={identity} />,
          },
          {
            id: 'seen',
            title: 'Last seen',
            cell: ({ identity }) => <Time value={lastUse(identity)} isRelative />,
          },
          {
            id: 'created',
            title: 'Created',
            sortKey: 'created_at',
            cell: ({ identity }) => <Time value={identity.createTime} />,
          },
          {
            id: 'actions',
            title: 'Actions',
            cell: ({ identity }) => (
              <RowAction
                label="Revoke"
                object={`the pull token ${identity.name}`}
                missing={access.missing(uid, 'identity.delete')}
                onPress={() => setDialog(identity)}
              />
            ),
          },
        ]}
        empty={
          <p>
            There are no pull tokens yet. A pull token is a user name and a password for machines that pull
            without a sign-in, such as a cluster. Use an identity instead where the platform has tokens of its
            own.
          </p>
        }
      />
      <Equivalent command={`berth auth pull-token list --no-recursive --parent ${quoted(path)}`} />
      {dialog === 'create' && (
        <CreatePullTokenDialog
          uid={uid}
          path={path}
          onClose={close}
          onCreated={(one) => setCreated((shown) => [one, ...shown])}
        />
      )}
      {dialog !== undefined && dialog !== 'create' && (
        <RevokePullTokenDialog identity={dialog} onClose={close} onRevoked={() => hide(dialog.uid)} />
      )}
    </>
  )
}

/** Pull tokens that expire soon, also in the folders below, which the list does not show. */
function ExpiringBelow({ folder }: { readonly folder: string }) {
  const { data } = useQuery(expiringPullTokensQuery(folder))
  const below = data?.pullTokens.filter(({ uid }) => parentOf(uid) !== folder) ?? []
  if (below.length === 0) return null
  return (
    <p className="muted">
      In folders below, these expire soon:{' '}
      {below.map(({ uid, name }, at) => (
        <Fragment key={uid}>
          {at > 0 && ', '}
          <Link to="/identities/$" params={{ _splat: uid }}>
            {name}
          </Link>
        </Fragment>
      ))}
      .
    </p>
  )
}

function State({ identity }: { readonly identity: Identity }) {
  const expires = Date.parse(identity.staticKeys?.expirationTime ?? '')
  if (expires <= Date.now()) return <Badge tone="bad">expired</Badge>
  return lastUse(identity) === undefined ? <Badge>never used</Badge> : <Badge tone="good">in use</Badge>
}
