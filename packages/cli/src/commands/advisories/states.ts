import type { Advisory, AdvisoryEvent, EventTypeFilter } from '@berth/client/berth.ts'

/** Names and summaries of advisory events. */

type EventName = Exclude<
  keyof AdvisoryEvent,
  'uid' | 'createTime' | 'findings' | 'author' | 'reviewer' | 'reviewState' | 'issue'
>

interface EventType {
  readonly name: EventName
  readonly filter: EventTypeFilter
}

/** By state name, in the usual order of events. */
const eventTypes = {
  detected: { name: 'detection', filter: 'EVENT_TYPE_FILTER_DETECTION' },
  affected: { name: 'truePositiveDetermination', filter: 'EVENT_TYPE_FILTER_TRUE_POSITIVE_DETERMINATION' },
  'not-affected': {
    name: 'falsePositiveDetermination',
    filter: 'EVENT_TYPE_FILTER_FALSE_POSITIVE_DETERMINATION',
  },
  fixed: { name: 'fixed', filter: 'EVENT_TYPE_FILTER_FIXED' },
  patched: { name: 'patched', filter: 'EVENT_TYPE_FILTER_PATCHED' },
  'waits-for-upstream': { name: 'pendingUpstreamFix', filter: 'EVENT_TYPE_FILTER_PENDING_UPSTREAM_FIX' },
  'wont-fix': { name: 'fixNotPlanned', filter: 'EVENT_TYPE_FILTER_FIX_NOT_PLANNED' },
  'wont-analyse': { name: 'analysisNotPlanned', filter: 'EVENT_TYPE_FILTER_ANALYSIS_NOT_PLANNED' },
} as const satisfies Readonly<Record<string, EventType>>

type State = keyof typeof eventTypes
export const states = Object.keys(eventTypes) as State[]

export function eventTypeFilter(state: string): EventTypeFilter {
  return eventTypes[state as State].filter
}

export function eventState(event: AdvisoryEvent): State | undefined {
  return states.find((state) => event[eventTypes[state].name] !== undefined)
}

/** Sorts events by time, newest first. At equal times the later entry of the list is newer. */
export function newestFirst({ events }: Pick<Advisory, 'events'>): readonly AdvisoryEvent[] {
  const timeOf = ({ createTime = '' }: AdvisoryEvent) => Date.parse(createTime)
  return events
    .map((event, at) => ({ event, at }))
    .sort((a, b) => timeOf(b.event) - timeOf(a.event) || b.at - a.at)
    .map(({ event }) => event)
}

/** Returns the state of the newest approved event. */
export function currentState(advisory: Pick<Advisory, 'events'>): State | undefined {
  const latest = newestFirst(advisory).find(({ reviewState }) => reviewState === 'REVIEW_STATE_APPROVED')
  return latest && eventState(latest)
}

/** Returns the version of the newest fixed event. */
export function lastFixedVersion(advisory: Pick<Advisory, 'events'>): string {
  return newestFirst(advisory).find(({ fixed }) => fixed !== undefined)?.fixed?.fixedVersion ?? ''
}

/** Summarizes an event in one line. */
export function eventSummary(event: AdvisoryEvent): string {
  const { detection, falsePositiveDetermination: notAffected } = event
  const scan = detection?.scanv1
  const parts = [
    event.fixed && `in ${event.fixed.fixedVersion}`,
    scan && `by ${scan.scanner}: ${scan.component} ${scan.componentVersion} at ${scan.componentLocation}`,
    detection?.nvdapi && `by the NVD: ${detection.nvdapi.cpeFound}`,
    notAffected && formatReason(notAffected.type),
    notAffected?.note,
    event.truePositiveDetermination?.note,
    event.analysisNotPlanned?.note,
    event.fixNotPlanned?.note,
    event.pendingUpstreamFix?.note,
    event.issue && `see ${event.issue}`,
  ]
  return parts.filter(Boolean).join('; ')
}

/** `TYPE_COMPONENT_VULNERABILITY_MISMATCH` is `component vulnerability mismatch`. */
function formatReason(type: string): string {
  return type.replace('TYPE_', '').replace('UNSPECIFIED', '').replaceAll('_', ' ').toLowerCase()
}
