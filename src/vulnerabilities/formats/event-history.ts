import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { AdvisoryEventSchema } from '#gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { limits } from '../../core/limits.ts'
import type { EventRecord } from '../advisory-record.ts'
import { compareInstants, type Instant } from './instants.ts'
import { pathOf, problemWith, type Value } from './source-value.ts'
import type { UnmappedTally } from './unmapped.ts'

/** Something that a document says happened, in the order of the document. */
export interface Happening {
  readonly at: Instant
  readonly type: EventRecord['type']
  readonly author: string
  /** What tracks it elsewhere. */
  readonly issue?: string
  /** What says so. */
  readonly source: Value
}

/** The `type` of an event, with what is not given as the schema has it. */
export function eventType(
  type: NonNullable<MessageInitShape<typeof AdvisoryEventSchema>['type']>,
): EventRecord['type'] {
  return create(AdvisoryEventSchema, { type }).type
}

/** The detection of whatever tells of no scanner. */
export function detectedByHand(): EventRecord['type'] {
  return eventType({ case: 'detection', value: { type: { case: 'manual', value: {} } } })
}

/** The events of one advisory in the order of time, of one time in that of the document. Equal ones count once. */
export function historyOf(happenings: readonly Happening[], tally: UnmappedTally): EventRecord[] {
  const tooMany = happenings[limits.advisoryEventsMax]
  if (tooMany !== undefined) {
    throw problemWith(
      tooMany.source,
      `is more than the ${limits.advisoryEventsMax} events that an advisory may have`,
    )
  }
  const known = new Set<string>()
  const events: EventRecord[] = []
  for (const { at, type, author, issue, source } of happenings.toSorted((a, b) =>
    compareInstants(a.at, b.at),
  )) {
    const event = { timeMs: at.ms, author, type, ...(issue !== undefined && { issue }) }
    const print = JSON.stringify(event)
    if (known.has(print)) {
      tally.add(`${pathOf(source, 'alike')} (repeated)`)
    } else {
      known.add(print)
      events.push(event)
    }
  }
  return events
}
