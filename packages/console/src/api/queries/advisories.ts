import type {
  AdvisoryFeed,
  AdvisoryPublication,
  ListAdvisoriesRequest,
  ListVulnerabilityRecordsRequest,
} from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { api } from '../client.ts'
import { PAGE_SIZE, paged, type Versioned } from './pages.ts'

/** Advisories, their documents, feeds and publications. */

export const advisoriesQuery = (filters: ListAdvisoriesRequest) =>
  paged(['advisories', filters], async (pageToken, signal) => {
    const { advisories: items, ...rest } = await api.advisories.list(
      { ...filters, pageSize: PAGE_SIZE, pageToken },
      { signal },
    )
    return { items, ...rest }
  })

/** What documents in a folder and the folders in it say about vulnerabilities. */
export const vulnerabilityRecordsQuery = (
  uid: string,
  filters: Omit<ListVulnerabilityRecordsRequest, 'uid' | 'pageSize' | 'pageToken'>,
) =>
  paged(['vulnerability-records', uid, filters], async (pageToken, signal) => {
    const request = { ...filters, uid, pageSize: PAGE_SIZE, pageToken }
    const { vulnerabilityRecords: items, ...rest } = await api.vulnerabilityRecords.list(request, { signal })
    return { items, ...rest }
  })

export const advisoryQuery = (uid: string) =>
  queryOptions({
    queryKey: ['advisory', uid],
    queryFn: ({ signal }) => api.advisories.get(uid, { signal }),
  })

export const sourcesQuery = (uid: string) =>
  paged(['advisory-sources', uid], async (pageToken, signal) => {
    const request = { uid, pageSize: PAGE_SIZE, pageToken }
    const { sources: items, nextPageToken } = await api.advisoryDocuments.getAdvisorySources(request, {
      signal,
    })
    return { items, nextPageToken }
  })

/** `format`: '' for all. */
export const documentsQuery = (parent: string, format: string, id: string) =>
  paged(['advisory-documents', parent, format, id], async (pageToken, signal) => {
    const request = { parent, format, id, pageSize: PAGE_SIZE, pageToken }
    const { documents: items, nextPageToken } = await api.advisoryDocuments.getAdvisoryDocuments(request, {
      signal,
    })
    return { items, nextPageToken }
  })

/** A document as it was published, in base64. `owner`: of the group that has it, or of an advisory from it. */
export type DocumentOwner = { readonly parent: string } | { readonly advisory: string }

export const documentContentQuery = (owner: DocumentOwner, format: string, id: string) =>
  queryOptions({
    queryKey: ['advisory-document', owner, format, id],
    // Documents have up to 64 MiB: one is kept while it is shown.
    gcTime: 0,
    refetchInterval: false,
    refetchOnWindowFocus: false,
    queryFn: async ({ signal }) => {
      const one = { format, id, content: true }
      const found =
        'parent' in owner
          ? (await api.advisoryDocuments.getAdvisoryDocuments({ parent: owner.parent, ...one }, { signal }))
              .documents
          : (await api.advisoryDocuments.getAdvisorySources({ uid: owner.advisory, ...one }, { signal }))
              .sources
      const [document] = found
      if (document === undefined) throw new Error('The document does not exist any more.')
      return document
    },
  })

const COUNTING_MS = 2000

export const summaryQuery = (uid: string) =>
  queryOptions({
    queryKey: ['advisory-summary', uid],
    queryFn: ({ signal }) => api.advisorySummaries.getAdvisorySummary({ uid }, { signal }),
    refetchInterval: ({ state: { data, status } }) =>
      status === 'error' ? false : data?.outdated === true ? COUNTING_MS : 30_000,
  })

const RUNNING_MS = 1000
const WAITING_MS = 15_000

/** Whether a run of the feed has started or is about to. */
export const isSyncing = ({ state }: Pick<AdvisoryFeed, 'state'>): boolean =>
  state === 'STATE_RUNNING' || state === 'STATE_WAITING'

/** Feeds of a folder and of all folders in it. */
export const feedsQuery = (folder: string) => ({
  ...paged(['advisory-feeds', folder], async (pageToken, signal) => {
    const filter = { uidp: { descendantsOf: folder }, orderBy: 'url', pageSize: PAGE_SIZE, pageToken }
    const { advisoryFeeds: items, ...rest } = await api.advisoryFeeds.list(filter, { signal })
    return { items, ...rest }
  }),
  refetchInterval: WAITING_MS,
})

export const feedQuery = (uid: string) =>
  queryOptions({
    queryKey: ['advisory-feed', uid],
    queryFn: async ({ signal }): Promise<Versioned<AdvisoryFeed>> => {
      const { value, etag } = await api.advisoryFeeds.get(uid, { signal }).withResponse()
      return { value, etag }
    },
    refetchInterval: ({ state: { data, status } }) =>
      status === 'error' ? false : data !== undefined && isSyncing(data.value) ? RUNNING_MS : WAITING_MS,
  })

export const publicationQuery = (uid: string) =>
  queryOptions({
    queryKey: ['advisory-publication', uid],
    queryFn: async ({ signal }): Promise<Versioned<AdvisoryPublication>> => {
      const { value, etag } = await api.advisoryPublications
        .getAdvisoryPublication(uid, { signal })
        .withResponse()
      return { value, etag }
    },
  })

/** The paths of folders by uid, as far as the user can see them. */
export const groupPathsQuery = (uids: readonly string[]) =>
  queryOptions({
    queryKey: ['group-paths', uids],
    queryFn: async ({ signal }) => {
      const { groups } = await api.groupPaths.findGroupPaths({ uids: [...uids] }, { signal })
      return new Map(groups.map(({ uid, path }) => [uid, path]))
    },
    refetchInterval: false,
    enabled: uids.length > 0,
  })
