import type { FindingSummary, TagFindingSummary } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { batched } from '../../batch.ts'
import { api } from '../../client.ts'
import { PAGE_SIZE, paged } from '../pages.ts'

/** Numbers of vulnerabilities of the repositories and tags that a list shows: one request for the rows of a page. */

/** Counting reads the findings of every image with a tag, so it is not repeated with every refresh of a list. */
const FRESH_MS = 60_000

const paced = { staleTime: FRESH_MS, refetchInterval: false as const }

/** The loaders of lists, by the folder or repository of the list. */
function loadersBy<T>(
  load: (uid: string, keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
): (uid: string) => (key: string) => Promise<T | undefined> {
  const loaders = new Map<string, (key: string) => Promise<T | undefined>>()
  return (uid) => {
    const loader = loaders.get(uid) ?? batched(PAGE_SIZE, (keys) => load(uid, keys))
    loaders.set(uid, loader)
    return loader
  }
}

const reposOf = loadersBy(async (folder, repoUids) => {
  const { findingSummaries } = await api.findingSummaries.list({ uid: folder, repoUids, pageSize: PAGE_SIZE })
  return new Map(findingSummaries.map((summary) => [summary.uid, summary]))
})

const tagsOf = loadersBy(async (repo, tags) => {
  const request = { uid: repo, tags, pageSize: PAGE_SIZE }
  const { tagFindingSummaries } = await api.findingSummaries.listTagFindingSummaries(request)
  return new Map(tagFindingSummaries.map((summary) => [summary.tag, summary]))
})

/** `folder`: the list is of this folder and everything in it. Null for a repository that no longer exists. */
export const repoFindingsQuery = (folder: string, repo: string) =>
  queryOptions({
    queryKey: ['repo-findings', folder, repo],
    queryFn: async (): Promise<FindingSummary | null> => (await reposOf(folder)(repo)) ?? null,
    ...paced,
  })

/** `digest`: another one has other vulnerabilities. Null for a tag that no longer exists. */
export const tagFindingsQuery = (repo: string, tag: string, digest: string) =>
  queryOptions({
    queryKey: ['tag-findings', repo, tag, digest],
    queryFn: async (): Promise<TagFindingSummary | null> => (await tagsOf(repo)(tag)) ?? null,
    ...paced,
  })

/** The tags of a repository, each with its findings of one vulnerability. */
export const tagsWithQuery = (repo: string, vulnerability: string) => ({
  ...paged<TagFindingSummary>(['tags-with', repo, vulnerability], async (pageToken, signal) => {
    const request = { uid: repo, vulnerability, pageSize: PAGE_SIZE, pageToken }
    const { tagFindingSummaries: items, nextPageToken } = await api.findingSummaries.listTagFindingSummaries(
      request,
      { signal },
    )
    return { items, nextPageToken }
  }),
  ...paced,
})
