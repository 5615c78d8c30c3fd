import { AdvisoryEventSchema } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { EventRecord } from '../advisory-record.ts'
import { formatLimits } from '../limits.ts'
import { pathOf, problemWith, type Value } from '../syntax/source-value.ts'
import { compareInstants, type Instant } from './instants.ts'
import type { UnmappedTally } from './unmapped-fields.ts'

/** An event of a document, in the order of the document. */
export interface SourceEvent {
  readonly at: Instant
  readonly type: EventRecord['type']
  readonly author: string
  /** The issue that tracks it. */
  readonly issue?: string
  /** The value of the document that states it. */
  readonly source: Value
}

/** Creates the `type` of an event, with the schema's defaults. */
export function createEventType(
  type: NonNullable<MessageInitShape<typeof AdvisoryEventSchema>['type']>,
): EventRecord['type'] {
  return create(AdvisoryEventSchema, { type }).type
}

/** Creates a manual detection, for sources that name no scanner. */
export function manualDetection(): EventRecord['type'] {
  return createEventType({ case: 'detection', value: { type: { case: 'manual', value: {} } } })
}

/** Returns the distinct events of one advisory in order of time; events with the same time keep the order of the document. */
export function buildHistory(sourceEvents: readonly SourceEvent[], tally: UnmappedTally): EventRecord[] {
  const tooMany = sourceEvents[formatLimits.advisoryEventsMax]
  if (tooMany !== undefined) {
    throw problemWith(
      tooMany.source,
      `exceeds the limit of ${formatLimits.advisoryEventsMax} events in one advisory`,
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
