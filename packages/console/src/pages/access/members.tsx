import type { AccessSource, HiddenAccess, Member, MemberKind } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { session } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { plural } from '../../components/quantity.tsx'

/** Members of a folder and the sources of their roles, as lists and explanations show them. */

const kindNames: Readonly<Record<MemberKind, string>> = {
  MEMBER_KIND_UNSPECIFIED: '',
  MEMBER_KIND_USER: 'Person',
  MEMBER_KIND_WORKLOAD: 'Workload',
  MEMBER_KIND_EXTERNAL_GROUP: 'Group',
}

export const kindName = (kind: MemberKind): string => kindNames[kind]

export const memberName = ({ name, email, uid }: Pick<Member, 'name' | 'email' | 'uid'>): string =>
  name || email || uid

export function MemberName({ member }: { readonly member: Member }) {
  const { uid, kind, email } = member
  const second = kind === 'MEMBER_KIND_EXTERNAL_GROUP' ? 'everyone who signs in as its member' : email
  return (
    <>
      <bdi>{memberName(member)}</bdi>
      {uid === session.identity && ' (you)'}
      {second !== '' && (
        <span className="second">
          <bdi>{second}</bdi>
        </span>
      )}
    </>
  )
}

/** Where a role comes from; a folder above is a link. */
export function Source({ source }: { readonly source: AccessSource }) {
  const { kind, group, externalGroup, identityProvider, acceptedThrough } = source
  if (kind === 'KIND_GROUP_MAPPING')
    return (
      <>
        group <bdi>{externalGroup}</bdi> of {identityProvider?.name || 'a deleted provider'}
      </>
    )
  return (
    <>
      {kind === 'KIND_DIRECT' ? 'here' : <FolderLink uid={group?.uid ?? ''} name={group?.name ?? ''} />}
      {acceptedThrough !== undefined && (
        <Badge title="In sign-ins through other organizations, the role applies to this provider only.">
          through {acceptedThrough.name || 'a deleted provider'}
        </Badge>
      )}
    </>
  )
}

function FolderLink({ uid, name }: { readonly uid: string; readonly name: string }) {
  return (
    <Link to="/folders/$" params={{ _splat: uid }} search={{ tab: 'people' }}>
      {name || uid}
    </Link>
  )
}

export function Sources({ sources }: { readonly sources: readonly AccessSource[] }) {
  return (
    <ul className="plain-list">
      {sources.map((source) => (
        <li key={`${source.roleBinding} ${source.externalGroup} ${source.identityProvider?.uid ?? ''}`}>
          <Source source={source} />
        </li>
      ))}
    </ul>
  )
}

/** Members in folders above that the user cannot read: how many, and with which role. */
export function Hidden({ hidden }: { readonly hidden: readonly HiddenAccess[] }) {
  if (hidden.length === 0) return null
  return (
    <section className="notice neutral" aria-label="Members that are not shown">
      <p>Others have roles in folders above, whose members you cannot read:</p>
      <ul>
        {hidden.map((one) => (
          <li key={`${one.group?.uid} ${one.role}`}>
            <bdi>{one.group?.name || one.group?.uid}</bdi>: {countsOf(one)} with the role {one.role}
          </li>
        ))}
      </ul>
    </section>
  )
}

function countsOf({ users, workloads, externalGroups }: HiddenAccess): string {
  const counts = [
    [users, 'person', 'people'],
    [workloads, 'workload', 'workloads'],
    [externalGroups, 'group of a provider', 'groups of providers'],
  ] as const
  return counts
    .filter(([n]) => n > 0)
    .map(([n, one, many]) => plural(n, one, many))
    .join(', ')
}
