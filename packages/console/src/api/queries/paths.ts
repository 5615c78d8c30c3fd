import { queryOptions } from '@tanstack/react-query'
import { ancestorsOf } from '../../uid.ts'
import { api } from '../client.ts'

/** A folder above a resource. */
export interface AncestorName {
  readonly uid: string
  readonly name: string
  /** The user may only know the name. */
  readonly isReadable: boolean
}

/** The folders above a uid, the organization first. Who can read a folder knows the names of the folders above it. */
export const ancestorNamesQuery = (uid: string) =>
  queryOptions({
    queryKey: ['ancestors', uid, 'names'],
    queryFn: async ({ signal }): Promise<readonly AncestorName[]> => {
      const uids = ancestorsOf(uid)
      if (uids.length === 0) return []
      // The uid itself is one of a topmost folder, whose path has the names of those above it.
      const { groups } = await api.groupPaths.findGroupPaths({ uids: [...uids, uid] }, { signal })
      const readable = new Set(groups.map((group) => group.uid))
      const names = groups.at(-1)?.path.split('/') ?? []
      return uids
        .slice(0, names.length)
        .map((ancestor, at) => ({ uid: ancestor, name: names[at] ?? '', isReadable: readable.has(ancestor) }))
    },
  })
