import type { Group, WhoAmI } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { api } from '../client.ts'
import { PAGE_SIZE, PAGE_SIZE_MAX, paged, type Versioned } from './pages.ts'

/** Organizations and folders, and what the user may do in them. */

export const whoAmI = queryOptions({
  queryKey: ['who-am-i'],
  queryFn: ({ signal }) => api.auth.validate({}, { signal }),
})

/** The folders below organizations that the user has roles in. */
export function foldersWithRoles(
  user: WhoAmI | undefined,
): readonly { readonly uid: string; readonly name: string }[] {
  const groups = (user?.capabilities ?? []).flatMap(({ group }) => (group?.id.includes('/') ? [group] : []))
  return [...new Map(groups.map(({ id, name }) => [id, { uid: id, name }])).values()]
}

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

export const organizationOf = (uid: string): string => uid.split('/')[0] ?? ''
export const parentOf = (uid: string): string => uid.split('/').slice(0, -1).join('/')
