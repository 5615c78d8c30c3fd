import type { Manifest, ManifestKind, RepoSummary } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { api } from '../../client.ts'
import { queryClient } from '../../query-client.ts'
import { PAGE_SIZE, paged } from '../pages.ts'
import { resourcesQuery } from '../resources.ts'

/** What repositories contain: their summaries, their manifests, and what refers to these. */

export interface RepoFilter {
  readonly namePrefix: string
  /** Also the repositories in all folders below. */
  readonly isBelow: boolean
  readonly orderBy: string
}

export interface ListedRepo {
  readonly repo: RepoSummary
  /** With the folders above; the name if these are not readable. */
  readonly path: string
  /** The folder whose roles make it public; '' if it is private, or the folder is not readable. */
  readonly publicFrom: string
}

/** Two requests for a page. */
export const repoSummariesQuery = (folder: string, { namePrefix, isBelow, orderBy }: RepoFilter) =>
  paged(['repos', folder, 'summaries', namePrefix, isBelow, orderBy], async (pageToken, signal) => {
    const uidp = isBelow ? { descendantsOf: folder } : { childrenOf: folder }
    const filter = { uidp, namePrefix, orderBy, pageSize: PAGE_SIZE, pageToken }
    const { repoSummaries, ...rest } = await api.repoSummaries.list(filter, { signal })
    const named = repoSummaries.flatMap(({ uid, publicFrom }) => [publicFrom, ...(isBelow ? [uid] : [])])
    const uids = named.filter((uid) => uid !== '')
    const names = uids.length === 0 ? undefined : await queryClient.fetchQuery(resourcesQuery(uids))
    const items = repoSummaries.map(
      (repo): ListedRepo => ({
        repo,
        path: names?.get(repo.uid)?.path || repo.name,
        publicFrom: names?.get(repo.publicFrom)?.path ?? '',
      }),
    )
    return { items, ...rest }
  })

/** As the API has the filters; undefined for no filter. */
export interface ManifestFilter {
  readonly kind?: ManifestKind | undefined
  readonly tagged?: boolean | undefined
  readonly platform?: string | undefined
  readonly artifactType?: string | undefined
  readonly orderBy?: string | undefined
}

export const manifestsQuery = (repo: string, filter: ManifestFilter) =>
  paged(['manifests', repo, filter], async (pageToken, signal) => {
    const request = { uid: repo, ...filter, pageSize: PAGE_SIZE, pageToken }
    const {
      manifests: items,
      manifestCount: totalCount,
      nextPageToken,
    } = await api.manifests.list(request, {
      signal,
    })
    return { items, totalCount, nextPageToken }
  })

export const manifestQuery = (repo: string, digest: string) =>
  queryOptions({
    queryKey: ['manifest', repo, digest],
    queryFn: ({ signal }): Promise<Manifest> => api.manifests.get({ uid: repo, digest }, { signal }),
  })

export const referrersQuery = (repo: string, digest: string) =>
  paged(['referrers', repo, digest], async (pageToken, signal) => {
    const request = { uid: repo, digest, pageSize: PAGE_SIZE, pageToken }
    const { referrers: items, ...rest } = await api.referrers.list(request, { signal })
    return { items, ...rest }
  })

/** What would be deleted with a manifest. A dialog that asks before the deletion never shows an earlier response. */
export const manifestDeletionQuery = (repo: string, digest: string) =>
  queryOptions({
    queryKey: ['manifest-deletion', repo, digest],
    queryFn: ({ signal }) => api.manifests.delete({ uid: repo, digest, validateOnly: true }, { signal }),
    staleTime: 0,
    gcTime: 0,
  })

/** The digest that a tag of a repository points to; undefined if there is no such tag. */
export const tagDigestQuery = (repo: string, name: string) =>
  queryOptions({
    queryKey: ['tag-digest', repo, name],
    queryFn: async ({ signal }): Promise<string | null> => {
      const filter = { uidp: { childrenOf: repo }, name, includeDates: true, includeEpochs: true }
      const { tags } = await api.tags.list({ ...filter, includeReferrers: true, pageSize: 1 }, { signal })
      return tags[0]?.digest || null
    },
  })
