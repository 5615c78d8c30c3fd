import type { OperatorSession } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { userChoices } from '../../api/queries/choices.ts'
import { sessionsQuery } from '../../api/queries/operator.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge } from '../../components/badge.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import type { Choice } from '../../components/field.tsx'
import { FilterBar } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import { PickerFilter } from '../../components/picker-filter.tsx'
import { UserPicker, useOperatorChoice } from '../../components/pickers.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'
import { ChangeDialog } from './change-dialog.tsx'

/** Active sessions of users. */

export function Sessions() {
  const [{ identity = '' }] = useAddressState()
  const access = useAccess()
  const missing = access.missing('', 'operator.update')
  const [ending, setEnding] = useState<Ending | undefined>()
  const chosen = useOperatorChoice(userChoices, identity)
  const person: Person = { identity, name: chosen?.name ?? identity, email: emailOf(chosen) }
  return (
    <>
      <FilterBar>
        <PickerFilter name="identity">
          {(value, onChange) => (
            <UserPicker label="User" value={value} onChange={onChange} hint="Name, email address or uid" />
          )}
        </PickerFilter>
      </FilterBar>
      {identity !== '' && (
        <div className="tab-actions">
          <ActionButton
            label={`End all sessions of ${person.name}`}
            isQuiet
            missing={missing}
            onPress={() => setEnding({ allOf: person })}
          />
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
                <span className="second">{methodOf(one)}</span>
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
                object={`the session of ${userOf(one)}`}
                missing={missing}
                onPress={() => setEnding({ one })}
              />
            ),
          },
        ]}
        empty={<p>There are no active sessions{identity === '' ? '' : ` of ${person.name}`}.</p>}
      />
      <Equivalent command={`berth admin sessions list${identity === '' ? '' : ` ${optionOf(person)}`}`} />
      {ending !== undefined && <EndDialog ending={ending} onClose={() => setEnding(undefined)} />}
    </>
  )
}

/** Whose sessions are shown. */
interface Person {
  readonly identity: string
  readonly name: string
  /** '' if it is not known. */
  readonly email: string
}

const emailOf = (choice: Choice | undefined): string =>
  choice?.description?.includes('@') === true ? choice.description : ''

/** The option of the command that names a person. */
const optionOf = ({ identity, email }: Person): string =>
  email === '' ? `--identity ${identity}` : `--user ${quoted(email)}`

const userOf = ({ user, identityUid }: OperatorSession): string => user || identityUid

function User({ session }: { readonly session: OperatorSession }) {
  const { identityUid, current } = session
  const name = userOf(session)
  return (
    <>
      <span className="named">
        <Link to="/operator" search={{ tab: 'sessions', identity: identityUid }} title={identityUid}>
          <bdi>{name}</bdi>
        </Link>
        {current && <Badge tone="good">this session</Badge>}
      </span>
      {name !== identityUid && (
        <span className="second one-line" title={identityUid}>
          {identityUid}
        </span>
      )}
    </>
  )
}

function Client({ session: { kind, client, userAgent } }: { readonly session: OperatorSession }) {
  return (
    <>
      {kind === 'SESSION_KIND_BROWSER' ? 'Browser' : client || 'Unknown client'}
      <span className="second one-line" title={userAgent}>
        {userAgent}
      </span>
    </>
  )
}

const methods: Readonly<Record<string, string>> = {
  password: 'with a password',
  passkey: 'with a passkey',
  provider: 'with an identity provider',
}

function methodOf({ method, vouchedBy }: OperatorSession): string {
  const text = methods[method] ?? (method === '' ? '' : `with ${method}`)
  return vouchedBy === 'organization' ? `${text} of an organization` : text
}

/** A session, or all sessions of a person. */
type Ending = { readonly one: OperatorSession } | { readonly allOf: Person }

function EndDialog({ ending, onClose }: { readonly ending: Ending; readonly onClose: () => void }) {
  const queries = useQueryClient()
  const isAll = 'allOf' in ending
  return (
    <ChangeDialog
      title={isAll ? 'End all sessions' : 'End the session'}
      action={isAll ? 'End all sessions' : 'End the session'}
      isDangerous
      entered={null}
      onClose={onClose}
      submit={async () => {
        await (isAll
          ? api.operatorSessions.endIdentitySessions({ identityUid: ending.allOf.identity })
          : api.operatorSessions.endSession({ id: ending.one.id }))
        await queries.invalidateQueries({ queryKey: ['operator'] })
      }}
    >
      <p>
        {isAll
          ? `${ending.allOf.name} is signed out everywhere: in browsers and command lines, and the tokens of all sessions become invalid.`
          : `${userOf(ending.one)} is signed out there, and the tokens of the session become invalid.${ending.one.current ? ' This is your own session.' : ''}`}
      </p>
      <Equivalent command={`berth admin sessions revoke ${isAll ? optionOf(ending.allOf) : ending.one.id}`} />
    </ChangeDialog>
  )
}
