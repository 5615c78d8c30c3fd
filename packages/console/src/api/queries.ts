import type { Group, Repo } from '@berth/client'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'

/** What pages read. A list reads a page of it at a time, with the token of the previous page. */

const PAGE_SIZE = 50
const PAGE_SIZE_MAX = 200

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextPageToken: string
  /** 64-bit integer as text; absent if the server did not count. */
  readonly totalCount?: string | undefined
}

/** A resource with its version, which updates send back. */
export interface Versioned<T> {
  readonly value: T
  readonly etag: string | undefined
}

function paged<T>(
  key: readonly unknown[],
  read: (pageToken: string, signal: AbortSignal) => Promise<Page<T>>,
) {
  return infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }: Page<T>) => nextPageToken || undefined,
  })
}

export const whoAmI = queryOptions({
  queryKey: ['who-am-i'],
  queryFn: ({ signal }) => api.auth.validate({}, { signal }),
})

export const folderQuery = (uid: string) =>
  queryOptions({
    queryKey: ['folder', uid],
    queryFn: async ({ signal }): Promise<Versioned<Group>> => {
      const { value, etag } = await api.groups.get(uid, { signal }).withResponse()
      return { value, etag }
    },
  })

/** The folders above a uid that the user may see, the organization first. */
export const ancestorsQuery = (uid: string) =>
  queryOptions({
    queryKey: ['ancestors', uid],
    queryFn: async ({ signal }) => {
      const filter = { uidp: { ancestorsOf: uid }, orderBy: 'uid', pageSize: PAGE_SIZE_MAX }
      return (await api.groups.list(filter, { signal })).groups
    },
  })

/** `parent`: `/` for organizations. */
export const foldersQuery = (parent: string) =>
  paged(['folders', parent], async (pageToken, signal) => {
    const filter = { uidp: { childrenOf: parent }, orderBy: 'name', pageSize: PAGE_SIZE, pageToken }
    const { groups: items, ...rest } = await api.groups.list(filter, { signal })
    return { items, ...rest }
  })

export const reposQuery = (folder: string) =>
  paged(['repos', folder], async (pageToken, signal) => {
    const filter = { uidp: { childrenOf: folder }, orderBy: 'name', pageSize: PAGE_SIZE, pageToken }
    const { repos: items, ...rest } = await api.repos.list(filter, { signal })
    return { items, ...rest }
  })

export const repoQuery = (uid: string) =>
  queryOptions({
    queryKey: ['repo', uid],
    queryFn: async ({ signal }): Promise<Versioned<Repo>> => {
      const { value, etag } = await api.repos.get(uid, { signal }).withResponse()
      return { value, etag }
    },
  })

export const readmeQuery = (repo: string) =>
  queryOptions({
    queryKey: ['readme', repo],
    queryFn: ({ signal }) => api.repos.getRepoReadme(repo, { signal }),
  })

export const tagsQuery = (repo: string) =>
  paged(['tags', repo], async (pageToken, signal) => {
    const filter = {
      uidp: { childrenOf: repo },
      includeDates: true,
      includeEpochs: true,
      pageSize: PAGE_SIZE,
      pageToken,
    }
    const { tags: items, ...rest } = await api.tags.list(filter, { signal })
    return { items, ...rest }
  })

export const bindingsQuery = (folder: string) =>
  paged(['bindings', folder], async (pageToken, signal) => {
    const { roleBindings: items, ...rest } = await api.roleBindings.list(
      { group: folder, pageSize: PAGE_SIZE, pageToken },
      { signal },
    )
    return { items, ...rest }
  })

export const invitesQuery = (folder: string) =>
  paged(['invites', folder], async (pageToken, signal) => {
    const filter = { uidp: { childrenOf: folder }, pageSize: PAGE_SIZE, pageToken }
    const { groupInvites: items, ...rest } = await api.groupInvites.list(filter, { signal })
    return { items, ...rest }
  })

export const identitiesQuery = (folder: string) =>
  paged(['identities', folder], async (pageToken, signal) => {
    const filter = { uidp: { childrenOf: folder }, orderBy: 'name', pageSize: PAGE_SIZE, pageToken }
    const { identities: items, ...rest } = await api.identities.list(filter, { signal })
    return { items, ...rest }
  })

/** Managed roles, and those of the organization. */
export const rolesQuery = (organization: string) =>
  queryOptions({
    queryKey: ['roles', organization],
    queryFn: async ({ signal }) => {
      const read = async (uidp: object) =>
        (await api.roles.list({ uidp, orderBy: 'name', pageSize: PAGE_SIZE_MAX }, { signal })).roles
      const [managed, own] = await Promise.all([
        read({ inRoot: true }),
        read({ descendantsOf: organization }),
      ])
      return [...own, ...managed]
    },
  })

export const organizationOf = (uid: string): string => uid.split('/')[0] ?? ''
export const parentOf = (uid: string): string => uid.split('/').slice(0, -1).join('/')
