import { AdvisoryEventSchema } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { EventRecord } from '../advisory-record.ts'
import { formatLimits } from '../limits.ts'
import { pathOf, problemWith, type Value } from '../syntax/source-value.ts'
import { compareInstants, type Instant } from './instants.ts'
import type { UnmappedTally } from './unmapped-fields.ts'

/** Something that a document says happened, in the order of the document. */
export interface SourceEvent {
  readonly at: Instant
  readonly type: EventRecord['type']
  readonly author: string
  /** What tracks it elsewhere. */
  readonly issue?: string
  /** What says so. */
  readonly source: Value
}

/** The `type` of an event, with what is not given as the schema has it. */
export function createEventType(
  type: NonNullable<MessageInitShape<typeof AdvisoryEventSchema>['type']>,
): EventRecord['type'] {
  return create(AdvisoryEventSchema, { type }).type
}

/** The detection of whatever tells of no scanner. */
export function manualDetection(): EventRecord['type'] {
  return createEventType({ case: 'detection', value: { type: { case: 'manual', value: {} } } })
}

/** The events of one advisory in the order of time, of one time in that of the document. Equal ones count once. */
export function buildHistory(sourceEvents: readonly SourceEvent[], tally: UnmappedTally): EventRecord[] {
  const tooMany = sourceEvents[formatLimits.advisoryEventsMax]
  if (tooMany !== undefined) {
    throw problemWith(
      tooMany.source,
      `is more than the ${formatLimits.advisoryEventsMax} events that an advisory may have`,
    )
  }
  const known = new Set<string>()
  const events: EventRecord[] = []
  for (const { at, type, author, issue, source } of sourceEvents.toSorted((a, b) =>
    compareInstants(a.at, b.at),
  )) {
    const event = { timeMs: at.ms, author, type, ...(issue !== undefined && { issue }) }
    const fingerprint = JSON.stringify(event)
    if (known.has(fingerprint)) {
      tally.add(`${pathOf(source, 'alike')} (repeated)`)
    } else {
      known.add(fingerprint)
      events.push(event)
    }
  }
  return events
}
