import type { ListAuditEventsRequest } from '@berth/client'
import type { AddressState } from '../../address-query.ts'
import { quoted } from '../../components/copy.tsx'

/** The filters of the audit log: in the address, in requests, and in the command. */

export interface TimeRange {
  readonly id: string
  readonly name: string
  /** Undefined: no start. */
  readonly ms: number | undefined
  /** As the command line has it. */
  readonly duration: string
}

const HOUR_MS = 3_600_000

export const timeRanges: readonly TimeRange[] = [
  { id: '1h', name: 'Last hour', ms: HOUR_MS, duration: '1h' },
  { id: '24h', name: 'Last 24 hours', ms: 24 * HOUR_MS, duration: '24h' },
  { id: '7d', name: 'Last 7 days', ms: 168 * HOUR_MS, duration: '168h' },
  { id: 'all', name: 'All', ms: undefined, duration: '' },
]

export const CUSTOM = 'custom'
export const DEFAULT_RANGE = '24h'

export type EventFilter = Omit<ListAuditEventsRequest, 'pageSize' | 'pageToken' | 'orderBy' | 'skip'>

/** A page requests its first events before it is rendered: both are one list, with one start. */
const START_MS = 5000
let latest = { key: '', nowMs: 0 }

/** Returns the time that "the last hour" of a list refers to. `key`: what its filter follows from. */
export function startOf(key: string): number {
  const nowMs = Date.now()
  if (latest.key !== key || nowMs - latest.nowMs > START_MS) latest = { key, nowMs }
  return latest.nowMs
}

/** `within`: uid of a folder, or '' for everything; `resource`: the uid that the filter by resource means. */
export function eventFilter(
  state: AddressState,
  { within, resource, nowMs }: { readonly within: string; readonly resource: string; readonly nowMs: number },
): EventFilter {
  const { actor = '', method = '', result = '' } = state
  const scope = resource || within
  const { since, until } = timesOf(state, nowMs)
  return {
    ...(scope !== '' && { uidp: { descendantsOf: scope } }),
    ...(actor !== '' && { actor }),
    ...(method !== '' && { method }),
    ...(result === 'done' && { code: 0 }),
    ...(result === 'denied' && { code: 7 }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  }
}

function timesOf(
  { range = DEFAULT_RANGE, since = '', until = '' }: AddressState,
  nowMs: number,
): { readonly since: string | undefined; readonly until: string | undefined } {
  if (range === CUSTOM) return { since: toRfc3339(since), until: toRfc3339(until) }
  const ms = timeRanges.find(({ id }) => id === range)?.ms
  return { since: ms === undefined ? undefined : new Date(nowMs - ms).toISOString(), until: undefined }
}

/** A time of an input, which is in the zone of the browser. */
function toRfc3339(local: string): string | undefined {
  const time = new Date(local)
  return local === '' || Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

/** The command that lists the same events. `within`: path or uid of a folder, or uid of another resource; '' for everything. */
export function eventsCommand(state: AddressState, within: string): string {
  const { range = DEFAULT_RANGE, actor = '', method = '', result = '' } = state
  const { since, until } = timesOf(state, Date.now())
  const duration = timeRanges.find(({ id }) => id === range)?.duration ?? ''
  const option = (name: string, value: string | undefined) => (value ? ` --${name} ${quoted(value)}` : '')
  return [
    'berth audit list',
    option('parent', within),
    within === '' ? '' : ' --recursive',
    option('actor', actor),
    option('method', method),
    option('result', result === 'done' ? 'ok' : result),
    option('since', range === CUSTOM ? since : duration),
    option('until', range === CUSTOM ? until : ''),
  ].join('')
}
