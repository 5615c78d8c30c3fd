import type { Tag } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { api } from '../../client.ts'
import { PAGE_SIZE, PAGE_SIZE_MAX, paged, type Versioned } from '../pages.ts'

/** Tags with what they point to, and their history. */

/** As the API filters and orders the tags of a repository. */
export interface TagFilter {
  readonly namePrefix: string
  readonly digest: string
  readonly includeDates: boolean
  readonly includeEpochs: boolean
  readonly includeReferrers: boolean
  readonly orderBy: string
}

export const everyTag: TagFilter = {
  namePrefix: '',
  digest: '',
  includeDates: true,
  includeEpochs: true,
  includeReferrers: false,
  orderBy: 'updated_at desc',
}

export const tagsQuery = (repo: string, filter: TagFilter) =>
  paged(['tags', repo, filter], async (pageToken, signal) => {
    const request = { uid: repo, ...filter, pageSize: PAGE_SIZE, pageToken }
    const { tags: items, ...rest } = await api.repoTags.list(request, { signal })
    return { items, ...rest }
  })

/** Names of tags: of these uids, or all that a filter shows. */
export const tagNamesQuery = (repo: string, which: readonly string[] | TagFilter) =>
  queryOptions({
    queryKey: ['tag-names', repo, which],
    queryFn: async ({ signal }): Promise<readonly string[]> => {
      const wanted = 'orderBy' in which ? undefined : new Set(which)
      const filter = 'orderBy' in which ? which : { ...everyTag, includeReferrers: true }
      const names: string[] = []
      for await (const { tag } of api.repoTags.all(
        { uid: repo, ...filter, pageSize: PAGE_SIZE_MAX },
        { signal },
      ))
        if (tag !== undefined && (wanted === undefined || wanted.delete(tag.uid))) {
          names.push(tag.name)
          if (wanted?.size === 0) break
        }
      return names
    },
    refetchInterval: false,
    refetchOnWindowFocus: false,
  })

export const tagQuery = (uid: string) =>
  queryOptions({
    queryKey: ['tag', uid],
    queryFn: async ({ signal }): Promise<Versioned<Tag>> => {
      const { value, etag } = await api.tags.get(uid, { signal }).withResponse()
      return { value, etag }
    },
  })

export const tagDetailsQuery = (uid: string) =>
  queryOptions({
    queryKey: ['tag-details', uid],
    queryFn: ({ signal }) => api.repoTags.get({ uid }, { signal }),
  })

export const tagHistoryQuery = (uid: string) =>
  paged(['tag-history', uid], async (pageToken, signal) => {
    const request = { uid, pageSize: PAGE_SIZE, pageToken }
    const { entries: items, ...rest } = await api.tagHistory.list(request, { signal })
    return { items, ...rest }
  })

/** What becomes of the manifests of tags. A dialog that asks before the deletion never shows an earlier response. */
export const tagDeletionQuery = (repo: string, tagUids: readonly string[]) =>
  queryOptions({
    queryKey: ['tag-deletion', repo, tagUids],
    queryFn: ({ signal }) => api.repoTags.previewTagDeletion({ uid: repo, tagUids }, { signal }),
    staleTime: 0,
    gcTime: 0,
  })
