import type { TagFindingHistoryEntry } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { DAY_MS } from '../../../durations.ts'
import { api } from '../../client.ts'
import { PAGE_SIZE_MAX } from '../pages.ts'

/** The history of a tag from a time on, latest first, with the entry that applies at this time. */
export const findingHistoryQuery = (repo: string, tag: string, days: number) =>
  queryOptions({
    queryKey: ['finding-history', repo, tag, days],
    queryFn: async ({ signal }): Promise<readonly TagFindingHistoryEntry[]> => {
      const fromMs = Date.now() - days * DAY_MS
      const request = { uid: repo, tag, pageSize: PAGE_SIZE_MAX }
      const entries: TagFindingHistoryEntry[] = []
      for await (const entry of api.findingSummaries.allTagFindingHistory(request, { signal })) {
        entries.push(entry)
        if (Date.parse(entry.time ?? '') < fromMs) break
      }
      return entries
    },
  })
