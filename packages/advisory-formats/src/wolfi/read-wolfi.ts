import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositiveType } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { AdvisoryRecord, EventRecord } from '../advisory-record.ts'
import type { DocumentBudget } from '../reading/document-budget.ts'
import { buildHistory, createEventType, manualDetection, type SourceEvent } from '../reading/event-history.ts'
import { emptyRecord, type FormatReader } from '../reading/format-reader.ts'
import { recordKey } from '../reading/record-key.ts'
import { type UnmappedTally, unknownValue } from '../reading/unmapped-fields.ts'
import { isPlatformId, readAlias, readVulnerabilityId } from '../reading/vulnerability-id.ts'
import { type Fields, pathOf, problemWith } from '../syntax/source-value.ts'
import {
  entriesOf,
  field,
  fieldsOf,
  objectsIn,
  optionalName,
  optionalNote,
  readInstant,
  readName,
  readNote,
  requireField,
} from '../syntax/value-fields.ts'

/**
 * Reads Wolfi documents of schema 2, whose revisions only add: one document for each origin package. It has no revision time: its
 * times are those of its events, which a newer version may have fewer of.
 */
export const readWolfi: FormatReader = (root, tally, budget) => {
  checkVersion(root)
  const origin = readName(requireField(fieldsOf(requireField(root, 'package')), 'name'))
  requireField(root, 'advisories')
  const ids = new Set<string>()
  const advisories = objectsIn(root, 'advisories').map((advisory) => {
    budget.advisory(advisory)
    const record = recordOf(advisory, origin, tally, budget)
    if (ids.has(record.legacyAdvisoryId))
      throw problemWith(advisory, `has the same id as another advisory in this document`)
    ids.add(record.legacyAdvisoryId)
    return record
  })
  return { id: origin, revisionMs: undefined, advisories, scores: [] }
}

function checkVersion(root: Fields): void {
  const version = requireField(root, 'schema-version')
  const text = readName(version)
  if (!/^2(?:\.\d+){0,2}$/.test(text)) {
    throw problemWith(version, `is ${JSON.stringify(text)}: only version 2 is supported`)
  }
}

function recordOf(
  advisory: Fields,
  origin: string,
  tally: UnmappedTally,
  budget: DocumentBudget,
): AdvisoryRecord {
  const id = readVulnerabilityId(requireField(advisory, 'id'))
  const hasPlatformId = isPlatformId(id)
  const sourceEvents = objectsIn(advisory, 'events')
    .map((event) => sourceEventOf(event, tally))
    .filter((sourceEvent) => sourceEvent !== undefined)
  const events = buildHistory(sourceEvents, tally)
  const scan = firstScan(events)
  return {
    ...emptyRecord,
    key: recordKey('wolfi', hasPlatformId ? id : `${origin}:${id}`),
    advisoryId: hasPlatformId ? id : '',
    legacyAdvisoryId: id,
    artifactName: scan?.subpackage || origin,
    artifactType: 'apk',
    componentName: scan?.component ?? '',
    componentLocation: scan?.componentLocation ?? '',
    componentType: scan?.componentType ?? '',
    origin,
    aliases: budget.aliases(
      [...(hasPlatformId ? [] : [id]), ...entriesOf(advisory, 'aliases').map(readAlias)],
      advisory,
    ),
    events,
    createdMs: events[0]?.timeMs,
    updatedMs: events.at(-1)?.timeMs,
  }
}

/** Returns the scan that first detected the vulnerability, which determines the component of an advisory. */
function firstScan(events: readonly EventRecord[]) {
  for (const { type } of events) {
    if (type.case === 'detection' && type.value.type.case === 'scanv1') return type.value.type.value
  }
  return undefined
}

/** Returns undefined for an event type of a later revision, which is counted as unmapped with all its fields. */
function sourceEventOf(event: Fields, tally: UnmappedTally): SourceEvent | undefined {
  const kind = requireField(event, 'type')
  const data = field(event, 'data')
  const type = typeOf(event, readName(kind), data === undefined ? undefined : fieldsOf(data), tally)
  if (type === undefined) return undefined
  return { at: readInstant(requireField(event, 'timestamp')), type, author: '', source: event }
}

function typeOf(
  event: Fields,
  kind: string,
  data: Fields | undefined,
  tally: UnmappedTally,
): EventRecord['type'] | undefined {
  switch (kind) {
    case 'detection':
      return detectionOf(requireData(event, data), tally)
    case 'fixed':
      return createEventType({
        case: 'fixed',
        value: { fixedVersion: readName(requireField(requireData(event, data), 'fixed-version')) },
      })
    case 'true-positive-determination':
      return createEventType({
        case: 'truePositiveDetermination',
        value: { note: data === undefined ? '' : optionalNote(data, 'note') },
      })
    case 'false-positive-determination':
      return falsePositiveOf(requireData(event, data), tally)
    case 'analysis-not-planned':
      return createEventType({ case: 'analysisNotPlanned', value: noteOf(requireData(event, data)) })
    case 'fix-not-planned':
      return createEventType({ case: 'fixNotPlanned', value: noteOf(requireData(event, data)) })
    case 'pending-upstream-fix':
      return createEventType({ case: 'pendingUpstreamFix', value: noteOf(requireData(event, data)) })
    default:
      tally.add(unknownValue(`${pathOf(event, 'alike')}.type`, kind))
      return undefined
  }
}

function requireData(event: Fields, data: Fields | undefined): Fields {
  return data ?? fieldsOf(requireField(event, 'data'))
}

function noteOf(data: Fields): { note: string } {
  return { note: readNote(requireField(data, 'note')) }
}

function detectionOf(data: Fields, tally: UnmappedTally): EventRecord['type'] | undefined {
  const kind = readName(requireField(data, 'type'))
  const inner = field(data, 'data')
  switch (kind) {
    case 'manual':
      return manualDetection()
    case 'nvdapi': {
      const match = fieldsOf(inner ?? requireField(data, 'data'))
      const value = {
        cpeSearched: optionalName(match, 'cpeSearched'),
        cpeFound: optionalName(match, 'cpeFound'),
      }
      return createEventType({ case: 'detection', value: { type: { case: 'nvdapi', value } } })
    }
    case 'scan/v1': {
      const scan = fieldsOf(inner ?? requireField(data, 'data'))
      const value = {
        subpackage: optionalName(scan, 'subpackageName'),
        componentId: optionalName(scan, 'componentID'),
        component: optionalName(scan, 'componentName'),
        componentVersion: optionalName(scan, 'componentVersion'),
        componentType: optionalName(scan, 'componentType'),
        componentLocation: optionalNote(scan, 'componentLocation'),
        scanner: optionalName(scan, 'scanner'),
      }
      return createEventType({ case: 'detection', value: { type: { case: 'scanv1', value } } })
    }
    default:
      tally.add(unknownValue(`${pathOf(data, 'alike')}.type`, kind))
      return undefined
  }
}

const falsePositiveTypes = new Map([
  ['vulnerability-record-analysis-contested', FalsePositiveType.VULNERABILITY_RECORD_ANALYSIS_CONTESTED],
  ['component-vulnerability-mismatch', FalsePositiveType.COMPONENT_VULNERABILITY_MISMATCH],
  ['vulnerable-code-version-not-used', FalsePositiveType.VULNERABLE_CODE_VERSION_NOT_USED],
  ['vulnerable-code-not-included-in-package', FalsePositiveType.VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE],
  ['vulnerable-code-not-in-execution-path', FalsePositiveType.VULNERABLE_CODE_NOT_IN_EXECUTION_PATH],
  [
    'vulnerable-code-cannot-be-controlled-by-adversary',
    FalsePositiveType.VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY,
  ],
  ['inline-mitigations-exist', FalsePositiveType.INLINE_MITIGATIONS_EXIST],
])

function falsePositiveOf(data: Fields, tally: UnmappedTally): EventRecord['type'] {
  const kind = readName(requireField(data, 'type'))
  const type = falsePositiveTypes.get(kind)
  if (type === undefined) tally.add(unknownValue(`${pathOf(data, 'alike')}.type`, kind))
  return createEventType({
    case: 'falsePositiveDetermination',
    value: { type: type ?? FalsePositiveType.UNSPECIFIED, note: optionalNote(data, 'note') },
  })
}
