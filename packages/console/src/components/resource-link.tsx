import type { Resource, ResourceKind } from '@berth/client'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { writeAddressState } from '../address-query.ts'
import { organizationOf } from '../api/queries/groups.ts'

/** What resources are called, and where their pages are. */

export const kindNames: Readonly<Record<ResourceKind, { readonly one: string; readonly many: string }>> = {
  RESOURCE_KIND_UNSPECIFIED: { one: 'Resource', many: 'Resources' },
  RESOURCE_KIND_ORGANIZATION: { one: 'Organization', many: 'Organizations' },
  RESOURCE_KIND_FOLDER: { one: 'Folder', many: 'Folders' },
  RESOURCE_KIND_REPOSITORY: { one: 'Repository', many: 'Repositories' },
  RESOURCE_KIND_TAG: { one: 'Tag', many: 'Tags' },
  RESOURCE_KIND_MANIFEST: { one: 'Manifest', many: 'Manifests' },
  RESOURCE_KIND_IDENTITY: { one: 'Identity', many: 'Identities' },
  RESOURCE_KIND_USER: { one: 'User', many: 'Users' },
  RESOURCE_KIND_ROLE: { one: 'Role', many: 'Roles' },
  RESOURCE_KIND_ADVISORY: { one: 'Advisory', many: 'Advisories' },
  RESOURCE_KIND_ROLE_BINDING: { one: 'Role binding', many: 'Role bindings' },
  RESOURCE_KIND_GROUP_INVITE: { one: 'Invite', many: 'Invites' },
  RESOURCE_KIND_IDENTITY_PROVIDER: { one: 'Identity provider', many: 'Identity providers' },
  RESOURCE_KIND_ADVISORY_FEED: { one: 'Advisory feed', many: 'Advisory feeds' },
}

type Placed = Pick<Resource, 'kind' | 'uid' | 'parent' | 'digest'>

/** The page of a resource, below `/console`; '' if there is none. */
export function addressOf({ kind, uid, parent, digest }: Placed): string {
  const tabOf = (group: string, tab: string) =>
    group === '' ? '' : `/folders/${group}${writeAddressState({ tab })}`
  switch (kind) {
    case 'RESOURCE_KIND_ORGANIZATION':
    case 'RESOURCE_KIND_FOLDER':
      return `/folders/${uid}`
    case 'RESOURCE_KIND_REPOSITORY':
      return `/repos/${uid}`
    case 'RESOURCE_KIND_TAG':
      return `/tags/${uid}`
    case 'RESOURCE_KIND_MANIFEST':
      return `/manifests/${uid}/${digest}`
    case 'RESOURCE_KIND_IDENTITY':
      return `/identities/${uid}`
    case 'RESOURCE_KIND_ROLE':
      return `/roles/${uid}`
    case 'RESOURCE_KIND_ADVISORY':
      return `/advisories/${uid}`
    case 'RESOURCE_KIND_ADVISORY_FEED':
      return `/advisory-feeds/${uid}`
    case 'RESOURCE_KIND_USER':
    case 'RESOURCE_KIND_ROLE_BINDING':
      return tabOf(parent, 'people')
    case 'RESOURCE_KIND_GROUP_INVITE':
      return tabOf(parent, 'invites')
    case 'RESOURCE_KIND_IDENTITY_PROVIDER':
      return `/settings/${organizationOf(uid)}${writeAddressState({ tab: 'sign-in' })}`
    default:
      return ''
  }
}

/** A link to the page of a resource; only its text if it has none. */
export function ResourceLink({
  resource,
  children,
}: {
  readonly resource: Placed
  readonly children: ReactNode
}) {
  const address = addressOf(resource)
  if (address === '') return <>{children}</>
  const [path = '', query = ''] = address.split('?')
  return (
    <Link to={path} search={Object.fromEntries(new URLSearchParams(query))}>
      {children}
    </Link>
  )
}
