import type { Member } from '@berth/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { type MemberPage, membersQuery } from '../../api/queries/iam/members.ts'
import { Actions } from '../../components/actions.tsx'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { FilterBar, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { formatDay, Time } from '../../components/time.tsx'
import { Hidden, kindName, MemberName, memberName, Sources } from '../access/members.tsx'
import type { FolderTabProps } from './folder.tsx'
import { AddDialog, ChangeDialog, RemoveDialog } from './people-dialogs.tsx'
import '../../styles/pages/access.css'

/** Who has roles in a folder: people, workloads and groups of identity providers, and where each role comes from. */

type OpenDialog =
  | { readonly kind: 'add' }
  | { readonly kind: 'change' | 'remove'; readonly member: Member; readonly binding: string }

const LIST = 'role_bindings.list'

export function People({ uid, name }: FolderTabProps) {
  const access = useAccess()
  const path = usePath(uid, name)
  const [{ query = '', kind = '', from = '' }] = useAddressState()
  const [dialog, setDialog] = useState<OpenDialog | undefined>()
  const close = () => setDialog(undefined)
  const members = membersQuery(uid, { query, kind, from })
  const isFiltered = query !== '' || kind !== '' || from !== ''
  return (
    <>
      <Actions
        of="tab"
        actions={[
          {
            label: 'Grant a role',
            missing: access.missing(uid, 'role_bindings.create'),
            onPress: () => setDialog({ kind: 'add' }),
          },
        ]}
        links={
          <>
            <Link
              to="/folders/$"
              params={{ _splat: uid }}
              search={{ tab: 'invites' }}
              className="button quiet"
            >
              Invite people
            </Link>
            <Link to="/access/$" params={{ _splat: uid }} className="button quiet">
              Explain access
            </Link>
          </>
        }
      />
      <FilterBar>
        <TextFilter label="Search" name="query" placeholder="Name or email address" />
        <SelectFilter
          label="Kind"
          name="kind"
          choices={[
            { id: 'user', name: 'People' },
            { id: 'workload', name: 'Workloads' },
            { id: 'group', name: 'Groups of providers' },
          ]}
        />
        <SelectFilter
          label="From"
          name="from"
          anyLabel="Here and above"
          choices={[{ id: 'here', name: 'Here' }]}
        />
      </FilterBar>
      <PageList
        label="Members"
        query={members}
        missing={access.missing(uid, LIST)}
        keyOf={({ uid: identity, name: member, role }) => `${identity || member} ${role?.uid}`}
        columns={[
          { id: 'member', title: 'Name', cell: (member) => <MemberName member={member} /> },
          { id: 'kind', title: 'Kind', cell: (member) => kindName(member.kind) },
          { id: 'role', title: 'Role', cell: ({ role }) => <RoleLink role={role} /> },
          { id: 'from', title: 'From', cell: ({ sources }) => <Sources sources={sources} /> },
          {
            id: 'seen',
            title: 'Last seen',
            cell: (member) => <LastSeen member={member} />,
          },
          {
            id: 'actions',
            title: 'Actions',
            cell: (member) => (
              <MemberActions
                member={member}
                missing={{
                  change: access.missing(uid, 'role_bindings.update'),
                  remove: access.missing(uid, 'role_bindings.delete'),
                }}
                onOpen={(action, binding) => setDialog({ kind: action, member, binding })}
              />
            ),
          },
        ]}
        empty={
          isFiltered ? (
            <p>No members match the filters.</p>
          ) : (
            <p>
              No one has a role here. Grant one to people who have a role elsewhere in the organization, or
              invite them.
            </p>
          )
        }
      />
      {access.missing(uid, LIST) === undefined && <FirstPage query={members} />}
      <Equivalent command={`berth iam access list ${quoted(path)}${flagsOf(query, kind, from)}`} />
      {dialog?.kind === 'add' && <AddDialog uid={uid} onClose={close} />}
      {dialog?.kind === 'change' && <ChangeDialog {...dialog} folder={uid} onClose={close} />}
      {dialog?.kind === 'remove' && <RemoveDialog {...dialog} onClose={close} />}
    </>
  )
}

function flagsOf(query: string, kind: string, from: string): string {
  const kinds: Readonly<Record<string, string>> = { group: 'external-group' }
  return [
    query === '' ? '' : ` --query ${quoted(query)}`,
    kind === '' ? '' : ` --kind ${kinds[kind] ?? kind}`,
    from === 'here' ? ' --direct' : '',
  ].join('')
}

/** What the first page says of the list. It is the same request. */
function FirstPage({ query }: { readonly query: ReturnType<typeof membersQuery> }) {
  const { data } = useInfiniteQuery(query)
  const first = data?.pages[0] as MemberPage | undefined
  return <Hidden hidden={first?.hidden ?? []} />
}

/** Of people, the server reports the day, in UTC. */
function LastSeen({ member: { kind, lastSeenTime } }: { readonly member: Member }) {
  if (kind === 'MEMBER_KIND_EXTERNAL_GROUP') return null
  if (kind !== 'MEMBER_KIND_USER' || lastSeenTime === undefined)
    return <Time value={lastSeenTime} isRelative absent="unknown" />
  const day = formatDay(lastSeenTime)
  return <time dateTime={lastSeenTime}>{day === formatDay(Date.now()) ? 'today' : day}</time>
}

function RoleLink({ role }: { readonly role: Member['role'] | undefined }) {
  if (role === undefined) return null
  return (
    <Link to="/roles/$" params={{ _splat: role.uid }}>
      <bdi>{role.name || role.uid}</bdi>
    </Link>
  )
}

interface MemberActionsProps {
  readonly member: Member
  readonly missing: { readonly change: string | undefined; readonly remove: string | undefined }
  readonly onOpen: (action: 'change' | 'remove', binding: string) => void
}

/** A role is changed where it is granted. */
function MemberActions({ member, missing, onOpen }: MemberActionsProps) {
  const binding = member.sources.find(({ kind }) => kind === 'KIND_DIRECT')?.roleBinding
  if (binding === undefined) return <span className="hint">not granted here</span>
  const object = `the role ${member.role?.name} of ${memberName(member)}`
  return (
    <span className="row-actions">
      <RowAction
        label="Change"
        object={object}
        missing={missing.change}
        onPress={() => onOpen('change', binding)}
      />
      <RowAction
        label="Revoke"
        object={object}
        missing={missing.remove}
        onPress={() => onOpen('remove', binding)}
      />
    </span>
  )
}
