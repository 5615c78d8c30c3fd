import type { Identity, RoleBinding } from '@berth/client'
import { identityKind, lastUse } from '@berth/workloads/identity-kinds.ts'
import { describeTrust } from '@berth/workloads/trust.ts'
import { Link, useNavigate } from '@tanstack/react-router'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { parentOf } from '../../api/queries/groups.ts'
import { identitiesQuery } from '../../api/queries/iam/identities.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { FilterBar, FilterChips, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import { NotPermitted } from '../../components/reasons.tsx'
import { Time } from '../../components/time.tsx'
import { KeysExpiry } from '../identities/keys-expiry.tsx'
import type { FolderTabProps } from './folder.tsx'
import '../../styles/pages/identities.css'

const kinds = [
  { id: 'claim_match', name: 'Tokens of an issuer' },
  { id: 'static', name: 'Static keys and pull tokens' },
  { id: 'aws', name: 'AWS' },
  { id: 'service_principal', name: 'Services of the platform' },
]

/** The identities of a folder: what each trusts, and its roles. */
export function Identities({ uid, name }: FolderTabProps) {
  const [{ kind = '', text = '', order = 'name' }, change] = useAddressState()
  const navigate = useNavigate()
  const path = usePath(uid, name)
  const access = useAccess()
  const shownKind = kinds.find(({ id }) => id === kind)
  const isFiltered = shownKind !== undefined || text !== ''
  const set = [
    ...(shownKind === undefined ? [] : [['kind', shownKind.name] as const]),
    ...(text === '' ? [] : [['text', `Name starts with ${text}`] as const]),
  ]
  const options = [
    ...(shownKind === undefined ? [] : [`--type ${shownKind.id}`]),
    ...(text === '' ? [] : [`--name-prefix ${quoted(text)}`]),
  ]
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Create an identity"
          missing={access.missing(uid, 'identity.create')}
          onPress={() => void navigate({ to: '/create-identity/$', params: { _splat: uid } })}
        />
      </div>
      <FilterBar>
        <TextFilter label="Name" name="text" placeholder="Start of the name" />
        <SelectFilter label="Kind" name="kind" choices={kinds} anyLabel="All kinds" />
      </FilterBar>
      <FilterChips set={set} />
      <PageList
        label="Identities"
        query={identitiesQuery(uid, { kind: shownKind?.id ?? '', name: text.toLowerCase(), order })}
        missing={access.missing(uid, 'identity.list')}
        order={{ value: order, onChange: (next) => change({ order: next }) }}
        keyOf={({ identity }) => identity.uid}
        columns={[
          {
            id: 'name',
            title: 'Name',
            sortKey: 'name',
            cell: ({ identity }) => <IdentityName identity={identity} />,
          },
          {
            id: 'trusts',
            title: 'Trusts',
            cell: ({ identity }) => (
              <span className="trust-words">{describeTrust(identity).words.join(', ')}</span>
            ),
          },
          { id: 'roles', title: 'Roles', cell: ({ roles }) => <Roles folder={uid} roles={roles} /> },
          {
            id: 'seen',
            title: 'Last seen',
            cell: ({ identity }) => <Time value={lastUse(identity)} isRelative />,
          },
          {
            id: 'expires',
            title: 'Keys expire',
            sortKey: 'expiration_time',
            cell: ({ identity }) => <KeysExpiry identity={identity} />,
          },
          {
            id: 'created',
            title: 'Created',
            sortKey: 'created_at',
            cell: ({ identity }) => <Time value={identity.createTime} />,
          },
        ]}
        empty={
          isFiltered ? (
            <p>No identity of this folder matches the filters.</p>
          ) : (
            <p>
              There are no identities yet. An identity lets a workload, such as a CI job, use the tokens that
              its platform gives it: no secret is stored.
            </p>
          )
        }
      />
      <Equivalent
        command={['berth iam identities list --no-recursive --parent', quoted(path), ...options].join(' ')}
      />
    </>
  )
}

function IdentityName({ identity }: { readonly identity: Identity }) {
  const { uid, name, description } = identity
  return (
    <>
      <Link to="/identities/$" params={{ _splat: uid }}>
        {name}
      </Link>
      {identityKind(identity) === 'pull_token' && <span className="badge">pull token</span>}
      {description !== '' && <span className="second">{description}</span>}
    </>
  )
}

/** The names of roles; those in other folders say where. */
export function Roles({
  folder,
  roles,
}: {
  readonly folder: string
  readonly roles: readonly RoleBinding[]
}) {
  const access = useAccess()
  const missing = access.missing(folder, 'role_bindings.list')
  if (roles.length === 0) {
    if (missing !== undefined) return <NotPermitted what="Roles" missing={missing} />
    // It may not be known what the user may read.
    return <span className="muted">{access.holds(folder, 'role_bindings.list') ? 'none' : 'unknown'}</span>
  }
  return (
    <ul className="plain-list role-names">
      {roles.map(({ uid, role, roleUid, group }) => (
        <li key={uid}>
          {role?.name || roleUid}
          {parentOf(uid) !== folder && <span className="second">in {group?.name || 'another folder'}</span>}
        </li>
      ))}
    </ul>
  )
}
