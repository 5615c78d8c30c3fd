import type { Group } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'

/** Folders and organizations, found by the names in the address of a page. */

/** A folder with those above it, the organization first. */
export interface FolderPath {
  readonly folder: Group
  readonly ancestors: readonly Group[]
}

/** The address of a page has the names of the folders, as in image references. */
export function pathOfNames(names: readonly string[]): string {
  return names.map(encodeURIComponent).join('/')
}

export function namesOfPath(path: string): string[] {
  return path.split('/').filter((name) => name !== '')
}

/** Finds a folder by its path. Undefined if the caller can see none of that path. */
export function folderByPath(path: string) {
  return queryOptions({
    queryKey: ['folder', path],
    queryFn: async ({ signal }): Promise<FolderPath | null> => {
      const found: Group[] = []
      for (const name of namesOfPath(path)) {
        const parent = found.at(-1)
        const uidp = parent === undefined ? { childrenOf: '/' } : { childrenOf: parent.uid }
        const { groups } = await api.groups.list({ uidp, name, pageSize: 1 }, { signal })
        const [group] = groups
        if (group === undefined) return null
        found.push(group)
      }
      const folder = found.pop()
      return folder === undefined ? null : { folder, ancestors: found }
    },
  })
}

/** Returns the names of a folder and those above it. */
export function namesOf({ folder, ancestors }: FolderPath): string[] {
  return [...ancestors, folder].map(({ name }) => name)
}

export const organizations = queryOptions({
  queryKey: ['organizations'],
  queryFn: async ({ signal }) =>
    (await api.groups.list({ uidp: { childrenOf: '/' }, orderBy: 'name', pageSize: 200 }, { signal })).groups,
})
