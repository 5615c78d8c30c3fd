import type { HiddenAccess, Member, MemberKind, RoleBinding } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { api } from '../../client.ts'
import { PAGE_SIZE, PAGE_SIZE_MAX, type Page, paged, type Versioned } from '../pages.ts'

/** Who can do what, and why. */

export interface MemberFilter {
  readonly query: string
  readonly kind: string
  readonly from: string
}

/** A page of members; the first also has counts of those that the user cannot read. */
export interface MemberPage extends Page<Member> {
  readonly hidden: readonly HiddenAccess[]
  readonly suspended: boolean
}

const kinds: Readonly<Record<string, MemberKind>> = {
  user: 'MEMBER_KIND_USER',
  workload: 'MEMBER_KIND_WORKLOAD',
  group: 'MEMBER_KIND_EXTERNAL_GROUP',
}

export const membersQuery = (uid: string, { query, kind, from }: MemberFilter) =>
  paged(['members', uid, query, kind, from], async (pageToken, signal): Promise<MemberPage> => {
    const only = kinds[kind]
    const filter = { query, directOnly: from === 'here', ...(only !== undefined && { kind: only }) }
    const { members: items, ...rest } = await api.access.findMembers(
      { uid, ...filter, pageSize: PAGE_SIZE, pageToken },
      { signal },
    )
    return { items, ...rest }
  })

export const whoCanQuery = (uid: string, capability: string) =>
  paged(['who-can', uid, capability], async (pageToken, signal): Promise<MemberPage> => {
    const request = { uid, capability, pageSize: PAGE_SIZE, pageToken }
    const { members: items, ...rest } = await api.access.whoCan(request, { signal })
    return { items, ...rest }
  })

export const explanationQuery = (uid: string, identity: string, capability: string) =>
  queryOptions({
    queryKey: ['explanation', uid, identity, capability],
    queryFn: ({ signal }) => api.access.explainAccess({ uid, identity, capability }, { signal }),
  })

/** Identities whose name or email address contains a text. */
export const candidatesQuery = (uid: string, query: string) =>
  queryOptions({
    queryKey: ['candidates', uid, query],
    queryFn: ({ signal }) => api.access.findCandidates({ uid, query }, { signal }),
    placeholderData: (before) => before,
  })

export const roleUsesQuery = (uid: string) =>
  queryOptions({
    queryKey: ['role-uses', uid],
    queryFn: async ({ signal }) => {
      const { roles } = await api.access.countRoleUses({ uid }, { signal })
      return new Map(roles.map((use) => [use.role, use]))
    },
  })

export const managedRolesQuery = queryOptions({
  queryKey: ['managed-roles'],
  queryFn: async ({ signal }) =>
    (await api.roles.list({ uidp: { inRoot: true }, orderBy: 'name', pageSize: PAGE_SIZE_MAX }, { signal }))
      .roles,
})

export const customRolesQuery = (folder: string) =>
  paged(['custom-roles', folder], async (pageToken, signal) => {
    const filter = { uidp: { childrenOf: folder }, orderBy: 'name', pageSize: PAGE_SIZE, pageToken }
    const { roles: items, ...rest } = await api.roles.list(filter, { signal })
    return { items, ...rest }
  })

export const roleQuery = (uid: string) =>
  queryOptions({
    queryKey: ['role', uid],
    queryFn: async ({ signal }) => {
      const { value, etag } = await api.roles.get(uid, { signal }).withResponse()
      return { value, etag }
    },
  })

export const roleBindingsQuery = (role: string) =>
  paged(['role-bindings', role], async (pageToken, signal) => {
    const { roleBindings: items, ...rest } = await api.roleBindings.list(
      { role, pageSize: PAGE_SIZE, pageToken },
      { signal },
    )
    return { items, ...rest }
  })

/** A role binding with the version that a change of it names. */
export const roleBindingQuery = (uid: string) =>
  queryOptions({
    queryKey: ['role-binding', uid],
    queryFn: async ({ signal }): Promise<Versioned<RoleBinding>> => {
      const { value, etag } = await api.roleBindings.get(uid, { signal }).withResponse()
      return { value, etag }
    },
  })
