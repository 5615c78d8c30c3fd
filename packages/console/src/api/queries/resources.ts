import type { Resource } from '@berth/client'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { isUid } from '../../uid.ts'
import { api } from '../client.ts'
import { queryClient } from '../query-client.ts'

/** Search over all resources, and the names of known uids. */

export const SEARCH_CHARS_MIN = 2
const RESULTS_OF_KIND = 8
/** Values of one lookup. */
const LOOKUP_MAX = 400

export const searchQuery = (text: string) =>
  queryOptions({
    queryKey: ['search', text],
    queryFn: ({ signal }) => api.search.searchResources({ text, maxResults: RESULTS_OF_KIND }, { signal }),
    enabled: text.length >= SEARCH_CHARS_MIN,
    placeholderData: keepPreviousData,
    refetchInterval: false,
  })

export type ResourceNames = ReadonlyMap<string, Resource>

/** The resources with these uids that exist and that the user can see, in one request. */
export const resourcesQuery = (uids: readonly string[]) => {
  const wanted = [...new Set(uids)].filter(isUid).sort().slice(0, LOOKUP_MAX)
  return queryOptions({
    queryKey: ['resources', wanted],
    queryFn: async ({ signal }): Promise<ResourceNames> => {
      const { resources } = await api.search.lookupResources({ uids: wanted }, { signal })
      return new Map(resources.map((resource) => [resource.uid, resource]))
    },
    enabled: wanted.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: false,
  })
}

const NAMES_FRESH_MS = 60_000

/** The same for lists that are polled, which read the names of the same resources once in a while. */
export async function readNames(uids: readonly string[]): Promise<ResourceNames> {
  const query = resourcesQuery(uids)
  if (query.enabled === false) return new Map()
  return queryClient.fetchQuery({ ...query, staleTime: NAMES_FRESH_MS })
}
