import type { FindingSummary, FindingSummaryHistoryEntry, TagFindingHistoryEntry } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { DAY_MS } from '../../../durations.ts'
import { api } from '../../client.ts'
import { PAGE_SIZE_MAX } from '../pages.ts'

/** Returns the entries of the last days, latest first, with the entry that applies at their start. */
async function entriesOf<T extends { readonly time?: string }>(
  days: number,
  all: AsyncIterable<T>,
): Promise<readonly T[]> {
  const fromMs = Date.now() - days * DAY_MS
  const entries: T[] = []
  for await (const entry of all) {
    entries.push(entry)
    if (Date.parse(entry.time ?? '') < fromMs) break
  }
  return entries
}

/** The history of a tag. */
export const findingHistoryQuery = (repo: string, tag: string, days: number) =>
  queryOptions({
    queryKey: ['finding-history', repo, tag, days],
    queryFn: ({ signal }): Promise<readonly TagFindingHistoryEntry[]> => {
      const request = { uid: repo, tag, pageSize: PAGE_SIZE_MAX }
      return entriesOf(days, api.findingSummaries.allTagFindingHistory(request, { signal }))
    },
  })

/** The history of a repository, a folder or an organization. */
export const summaryHistoryQuery = (uid: string, days: number) =>
  queryOptions({
    queryKey: ['finding-summary-history', uid, days],
    queryFn: ({ signal }): Promise<readonly FindingSummaryHistoryEntry[]> => {
      const request = { uid, pageSize: PAGE_SIZE_MAX }
      return entriesOf(days, api.findingSummaries.allFindingSummaryHistory(request, { signal }))
    },
  })

/** What a folder or an organization has now. */
export const findingSummaryQuery = (uid: string) =>
  queryOptions({
    queryKey: ['finding-summary', uid],
    queryFn: ({ signal }): Promise<FindingSummary> => api.findingSummaries.get({ uid }, { signal }),
    // Counting reads the findings of every image with a tag.
    staleTime: FRESH_MS,
    refetchInterval: false,
  })

const FRESH_MS = 60_000
