import type { AuditEvent } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import type { EventFilter } from '../../pages/audit/audit-filters.ts'
import { uidsOf } from '../../pages/audit/audit-words.ts'
import { isUid } from '../../uid.ts'
import { api } from '../client.ts'
import { PAGE_SIZE, paged } from './pages.ts'
import { type ResourceNames, readNames, SEARCH_CHARS_MIN } from './resources.ts'

/** Events of the audit log, each with the names that it refers to. */
export interface NamedEvent {
  readonly event: AuditEvent
  readonly names: ResourceNames
}

/** A page is two requests: the events, and all their names. `key`: what the filter follows from; a later time is another list. */
export const eventsQuery = (key: readonly unknown[], filter: EventFilter, pollMs: number | false) => ({
  ...paged<NamedEvent>(['audit', ...key], async (pageToken, signal) => {
    const { events, ...rest } = await api.audit.list(
      { ...filter, pageSize: PAGE_SIZE, pageToken },
      { signal },
    )
    const names = await readNames(events.flatMap(uidsOf))
    return { items: events.map((event) => ({ event, names })), ...rest }
  }),
  refetchInterval: pollMs,
})

export const eventQuery = (uid: string) =>
  queryOptions({
    queryKey: ['audit-event', uid],
    queryFn: async ({ signal }): Promise<NamedEvent> => {
      const event = await api.audit.get(uid, { signal })
      return { event, names: await readNames(uidsOf(event)) }
    },
    // Events never change.
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    refetchOnWindowFocus: false,
  })

/** The uid of a resource by its path; '' if there is none that the user can see. */
export const resourceByPathQuery = (text: string) =>
  queryOptions({
    queryKey: ['resource-by-path', text],
    queryFn: async ({ signal }): Promise<string> => {
      if (isUid(text)) return text
      if (text.length < SEARCH_CHARS_MIN) return ''
      const { resources } = await api.search.searchResources({ text, maxResults: PAGE_SIZE }, { signal })
      const found = resources.find(({ path, kind }) => path === text && !PLACED.has(kind))
      return found?.uid ?? ''
    },
    enabled: text !== '',
    refetchInterval: false,
  })

/** Their paths are those of groups. */
const PLACED: ReadonlySet<string> = new Set(['RESOURCE_KIND_USER', 'RESOURCE_KIND_MANIFEST'])
