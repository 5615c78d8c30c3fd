import type { AdvisoryRecord, EventRecord } from '@berth/advisory-formats/advisory-record.ts'
import { createEventType } from '@berth/advisory-formats/reading/event-history.ts'
import { emptyRecord } from '@berth/advisory-formats/reading/format-reader.ts'
import { recordKey } from '@berth/advisory-formats/reading/record-key.ts'
import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositiveType } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { ToldAdvisory, ToldDocument, ToldEvent } from './documents.ts'

/** What the reader of the documents makes of them, without the reading: half a million take minutes of it. A test compares. */
export function recordsOf({ package: origin, advisories }: ToldDocument): AdvisoryRecord[] {
  return advisories.map((advisory) => recordOf(advisory, origin))
}

function recordOf({ id, aliases, events: history }: ToldAdvisory, origin: string): AdvisoryRecord {
  const events = history.map(
    (event): EventRecord => ({ timeMs: event.timeMs, author: '', type: typeOf(event) }),
  )
  const scan = history.find((event) => event.type === 'detection')?.scan
  return {
    ...emptyRecord,
    key: recordKey('wolfi', id),
    advisoryId: id,
    legacyAdvisoryId: id,
    artifactName: scan?.subpackageName ?? origin,
    artifactType: 'apk',
    componentName: scan?.componentName ?? '',
    componentLocation: scan?.componentLocation ?? '',
    componentType: scan?.componentType ?? '',
    origin,
    aliases,
    events,
    createdMs: events[0]?.timeMs,
    updatedMs: events.at(-1)?.timeMs,
  }
}

function typeOf(event: ToldEvent): EventRecord['type'] {
  switch (event.type) {
    case 'detection': {
      const { subpackageName, componentID, componentName, ...scan } = event.scan
      const value = {
        subpackage: subpackageName,
        componentId: componentID,
        component: componentName,
        ...scan,
        scanner: 'grype',
      }
      return createEventType({ case: 'detection', value: { type: { case: 'scanv1', value } } })
    }
    case 'fixed':
      return createEventType({ case: 'fixed', value: { fixedVersion: event.version } })
    case 'false-positive-determination':
      return createEventType({
        case: 'falsePositiveDetermination',
        value: { type: FalsePositiveType.VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE, note: event.note },
      })
    case 'fix-not-planned':
      return createEventType({ case: 'fixNotPlanned', value: { note: event.note } })
    default:
      return createEventType({ case: 'pendingUpstreamFix', value: { note: event.note } })
  }
}
