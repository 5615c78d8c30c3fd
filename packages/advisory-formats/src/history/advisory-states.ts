/** States of advisories, as users read them, from the JSON of the API. */

/** The fields of an event that decide its state: one of those with the name of a type is set. */
export interface StatedEvent extends Partial<Record<EventName, unknown>> {
  readonly createTime?: string
  readonly reviewState: string
}

interface EventType {
  readonly name: string
  readonly filter: `EVENT_TYPE_FILTER_${string}`
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

export type AdvisoryState = keyof typeof eventTypes
type EventName = (typeof eventTypes)[AdvisoryState]['name']
/** A type of events, as a filter of the API. */
export type EventFilter = (typeof eventTypes)[AdvisoryState]['filter']

export const states = Object.keys(eventTypes) as AdvisoryState[]

export function eventTypeFilter(state: string): EventFilter {
  return eventTypes[state as AdvisoryState].filter
}

/** Returns the state of an event type; undefined if it is unspecified. */
export function stateOfFilter(filter: string): AdvisoryState | undefined {
  return states.find((state) => eventTypes[state].filter === filter)
}

export function eventState(event: StatedEvent): AdvisoryState | undefined {
  return states.find((state) => event[eventTypes[state].name] !== undefined)
}

/** Sorts events by time, newest first. At equal times the later entry of the list is newer. */
export function newestFirst<Event extends StatedEvent>({
  events,
}: {
  readonly events: readonly Event[]
}): readonly Event[] {
  const timeOf = ({ createTime = '' }: StatedEvent) => Date.parse(createTime)
  return events
    .map((event, at) => ({ event, at }))
    .sort((a, b) => timeOf(b.event) - timeOf(a.event) || b.at - a.at)
    .map(({ event }) => event)
}

/** Returns the state of the newest approved event. */
export function currentState(advisory: {
  readonly events: readonly StatedEvent[]
}): AdvisoryState | undefined {
  const latest = newestFirst(advisory).find(({ reviewState }) => reviewState === 'REVIEW_STATE_APPROVED')
  return latest && eventState(latest)
}

/** Returns the version of the newest fixed event. */
export function lastFixedVersion(advisory: { readonly events: readonly StatedEvent[] }): string {
  const fixed = newestFirst(advisory).find((event) => event.fixed !== undefined)?.fixed
  return (fixed as { readonly fixedVersion?: string } | undefined)?.fixedVersion ?? ''
}

/** `TYPE_COMPONENT_VULNERABILITY_MISMATCH` is `component vulnerability mismatch`. */
export function formatReason(type: string): string {
  return type.replace('TYPE_', '').replace('UNSPECIFIED', '').replaceAll('_', ' ').toLowerCase()
}
