import type { AddressState } from '../../address-query.ts'

/** Kinds of resources, by the names that limits have. */

interface Kind {
  readonly title: string
  /** Where they are: a tab of the page of the folder, or of the settings of the organization. */
  readonly page: '/folders/$' | '/settings/$'
  readonly search: AddressState
}

export const kinds: Readonly<Partial<Record<string, Kind>>> = {
  repos: { title: 'Repositories', page: '/folders/$', search: { tab: 'repositories' } },
  tags: { title: 'Tags', page: '/folders/$', search: { tab: 'repositories' } },
  manifests: { title: 'Manifests', page: '/folders/$', search: { tab: 'repositories' } },
  groups: { title: 'Folders', page: '/folders/$', search: {} },
  identities: { title: 'Identities', page: '/folders/$', search: { tab: 'identities' } },
  role_bindings: { title: 'Role bindings', page: '/folders/$', search: { tab: 'people' } },
  roles: { title: 'Custom roles', page: '/folders/$', search: { tab: 'roles' } },
  group_invites: { title: 'Invites', page: '/folders/$', search: { tab: 'invites' } },
  idps: { title: 'Identity providers', page: '/settings/$', search: { tab: 'sign-in' } },
  external_group_role_mappings: { title: 'Group mappings', page: '/settings/$', search: { tab: 'mappings' } },
  account_associations: { title: 'Cloud accounts', page: '/settings/$', search: { tab: 'accounts' } },
  advisories: { title: 'Advisories', page: '/folders/$', search: { tab: 'advisories' } },
  storage_mib: { title: 'Storage (MiB)', page: '/settings/$', search: { tab: 'usage' } },
  signature_verifiers: {
    title: 'Signature verifiers',
    page: '/folders/$',
    search: { tab: 'pull-policies' },
  },
  advisory_feeds: { title: 'Advisory feeds', page: '/folders/$', search: { tab: 'advisories' } },
}

export const titleOf = (kind: string): string => kinds[kind]?.title ?? kind.replaceAll('_', ' ')

/** `CAP_IAM_GROUPS_LIST` as errors and roles have it: the server names capabilities without their prefix. */
export const capabilityName = (capability: string): string =>
  capability
    .replace(/^CAP_/, '')
    .replace(/^IAM_/, '')
    .toLowerCase()
    .replace(/_([a-z]+)$/, '.$1')
