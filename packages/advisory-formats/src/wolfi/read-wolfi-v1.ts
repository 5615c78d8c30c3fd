import type { AdvisoryRecord } from '../advisory-record.ts'
import { buildHistory, type SourceEvent } from '../reading/event-history.ts'
import { emptyRecord, type FormatReader } from '../reading/format-reader.ts'
import { recordKey } from '../reading/record-key.ts'
import { type UnmappedTally, unknownValue } from '../reading/unmapped-fields.ts'
import { isVulnerabilityId } from '../reading/vulnerability-id.ts'
import { type Fields, pathOf, problemWith, type Value } from '../syntax/source-value.ts'
import {
  fieldsOf,
  optionalName,
  optionalNote,
  readInstant,
  readName,
  requireField,
} from '../syntax/value-fields.ts'
import { isJustification, isVexStatus, type VexStatus, vexEventType } from '../vex/vex-status.ts'

/** Reads the first form of Wolfi documents, which has no version: the history of each vulnerability in VEX terms. */
export const readWolfiV1: FormatReader = (root, tally, budget) => {
  const origin = readName(requireField(fieldsOf(requireField(root, 'package')), 'name'))
  const byId = fieldsOf(requireField(root, 'advisories'))
  byId.isDictionary = true
  const advisories = [...byId.byName].map(([id, history]) => {
    budget.advisory(history)
    return recordOf(id, history, origin, tally)
  })
  return { id: origin, revisionMs: undefined, advisories, scores: [] }
}

function recordOf(id: string, history: Value, origin: string, tally: UnmappedTally): AdvisoryRecord {
  if (!isVulnerabilityId(id)) throw problemWith(history, 'must have an id such as CVE-2025-12345 as its name')
  if (history.kind !== 'list') throw problemWith(history, 'must be a list')
  const sourceEvents = history.items
    .map((entry) => sourceEventOf(fieldsOf(entry), tally))
    .filter((sourceEvent) => sourceEvent !== undefined)
  const events = buildHistory(sourceEvents, tally)
  return {
    ...emptyRecord,
    key: recordKey('wolfi', `${origin}:${id}`),
    legacyAdvisoryId: id,
    artifactName: origin,
    artifactType: 'apk',
    origin,
    aliases: [id],
    events,
    createdMs: events[0]?.timeMs,
    updatedMs: events.at(-1)?.timeMs,
  }
}

function sourceEventOf(entry: Fields, tally: UnmappedTally): SourceEvent | undefined {
  const status = readName(requireField(entry, 'status'))
  const path = pathOf(entry, 'alike')
  if (!isVexStatus(status)) {
    tally.add(unknownValue(`${path}.status`, status))
    return undefined
  }
  const justification = status === 'not_affected' ? optionalName(entry, 'justification') : ''
  if (justification !== '' && !isJustification(justification)) {
    tally.add(unknownValue(`${path}.justification`, justification))
  }
  const type = vexEventType(status, {
    justification,
    note: noteOf(entry, status),
    fixedVersion: status === 'fixed' ? optionalName(entry, 'fixed-version') : '',
  })
  return { at: readInstant(requireField(entry, 'timestamp')), type, author: '', source: entry }
}

function noteOf(entry: Fields, status: VexStatus): string {
  if (status === 'affected') return optionalNote(entry, 'action')
  return status === 'not_affected' ? optionalNote(entry, 'impact') : ''
}
