import type { OperatorSession } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { sessionsQuery } from '../../api/queries/operator.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge } from '../../components/badge.tsx'
import { Equivalent } from '../../components/copy.tsx'
import { FilterBar, FilterChips, TextFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'
import { ChangeDialog } from './change-dialog.tsx'

/** Active sessions of users. */

export function Sessions() {
  const [{ identity = '' }] = useAddressState()
  const access = useAccess()
  const missing = access.missing('', 'operator.update')
  const [ending, setEnding] = useState<OperatorSession | 'all' | undefined>()
  const ofIdentity = identity === '' ? '' : ` --identity ${identity}`
  return (
    <>
      <FilterBar>
        <TextFilter label="Identity" name="identity" placeholder="uid" />
      </FilterBar>
      <FilterChips set={identity === '' ? [] : [['identity', `Identity ${identity.slice(0, 8)}…`]]} />
      {identity !== '' && (
        <div className="tab-actions">
          <ActionButton label="End all sessions" isQuiet missing={missing} onPress={() => setEnding('all')} />
        </div>
      )}
      <PageList
        label="Sessions"
        query={sessionsQuery(identity)}
        keyOf={({ id }) => id}
        columns={[
          { id: 'user', title: 'User', cell: (one) => <User session={one} /> },
          { id: 'client', title: 'Client', cell: (one) => <Client session={one} /> },
          {
            id: 'since',
            title: 'Signed in',
            cell: (one) => (
              <>
                <Time value={one.createTime} isRelative />
                <span className="second">with {methodOf(one)}</span>
              </>
            ),
          },
          { id: 'address', title: 'Address', cell: ({ address }) => address },
          {
            id: 'used',
            title: 'Last used',
            cell: ({ lastUsedTime, expireTime }) => (
              <>
                <Time value={lastUsedTime} isRelative />
                <span className="second">
                  expires <Time value={expireTime} isRelative />
                </span>
              </>
            ),
          },
          {
            id: 'actions',
            title: 'Actions',
            cell: (one) => (
              <RowAction
                label="End"
                object={`the session of ${one.user || one.identityUid}`}
                missing={missing}
                onPress={() => setEnding(one)}
              />
            ),
          },
        ]}
        empty={<p>There are no active sessions{identity === '' ? '' : ' of this identity'}.</p>}
      />
      <Equivalent command={`berth admin sessions list${ofIdentity}`} />
      {ending !== undefined && (
        <EndDialog which={ending} identity={identity} onClose={() => setEnding(undefined)} />
      )}
    </>
  )
}

function User({ session: { user, identityUid, current } }: { readonly session: OperatorSession }) {
  return (
    <span className="named">
      <Link to="/operator" search={{ tab: 'sessions', identity: identityUid }} title={identityUid}>
        {user || identityUid}
      </Link>
      {current && <Badge tone="good">this session</Badge>}
    </span>
  )
}

function Client({ session: { kind, client, userAgent } }: { readonly session: OperatorSession }) {
  return (
    <>
      {kind === 'SESSION_KIND_BROWSER' ? 'Browser' : client || 'Unknown client'}
      <span className="second" title={userAgent}>
        {userAgent}
      </span>
    </>
  )
}

function methodOf({ method, vouchedBy }: OperatorSession): string {
  return vouchedBy === 'organization' ? `${method} of an organization` : method
}

interface EndDialogProps {
  readonly which: OperatorSession | 'all'
  readonly identity: string
  readonly onClose: () => void
}

function EndDialog({ which, identity, onClose }: EndDialogProps) {
  const queries = useQueryClient()
  const isAll = which === 'all'
  return (
    <ChangeDialog
      title={isAll ? 'End all sessions' : 'End the session'}
      entered={null}
      action={isAll ? 'End all sessions' : 'End the session'}
      isDangerous
      onClose={onClose}
      submit={async () => {
        await (isAll
          ? api.operatorSessions.endIdentitySessions({ identityUid: identity })
          : api.operatorSessions.endSession({ id: which.id }))
        await queries.invalidateQueries({ queryKey: ['operator'] })
      }}
    >
      <p>
        {isAll
          ? 'The user is signed out everywhere: browsers, command lines, and their tokens.'
          : `${which.user || which.identityUid} is signed out there, and the tokens of the session become invalid.${which.current ? ' This is your own session.' : ''}`}
      </p>
      <Equivalent command={`berth admin sessions revoke ${isAll ? `--identity ${identity}` : which.id}`} />
    </ChangeDialog>
  )
}
