import type { AdvisoryRecord } from '../advisory-record.ts'
import { type Happening, historyOf } from './event-history.ts'
import { emptyRecord, type FormatReader } from './format-reading.ts'
import { recordKey } from './record-key.ts'
import { type Fields, pathOf, problemWith, type Value } from './source-value.ts'
import { type UnmappedTally, unknownValue } from './unmapped.ts'
import { fieldsOf, optionalName, optionalNote, requiredField, takeInstant, takeName } from './value-fields.ts'
import { isJustification, isVexStatus, type VexStatus, vexEvent } from './vex-status.ts'
import { isVulnerabilityId } from './vulnerability-id.ts'

/** The first form of Wolfi advisory documents, which has no version: the history of each vulnerability in the words of VEX. */
export const readWolfiV1: FormatReader = (root, tally, growth) => {
  const origin = takeName(requiredField(fieldsOf(requiredField(root, 'package')), 'name'))
  const byId = fieldsOf(requiredField(root, 'advisories'))
  byId.isDictionary = true
  const advisories = [...byId.byName].map(([id, history]) => {
    growth.advisory(history)
    return recordOf(id, history, origin, tally)
  })
  return { id: origin, revisionMs: undefined, advisories, scores: [] }
}

function recordOf(id: string, history: Value, origin: string, tally: UnmappedTally): AdvisoryRecord {
  if (!isVulnerabilityId(id)) throw problemWith(history, 'is not under an id such as CVE-2025-12345')
  if (history.kind !== 'list') throw problemWith(history, 'must be a list')
  const happenings = history.items
    .map((entry) => happeningOf(fieldsOf(entry), tally))
    .filter((happening) => happening !== undefined)
  const events = historyOf(happenings, tally)
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

function happeningOf(entry: Fields, tally: UnmappedTally): Happening | undefined {
  const status = takeName(requiredField(entry, 'status'))
  const path = pathOf(entry, 'alike')
  if (!isVexStatus(status)) {
    tally.add(unknownValue(`${path}.status`, status))
    return undefined
  }
  const justification = status === 'not_affected' ? optionalName(entry, 'justification') : ''
  if (justification !== '' && !isJustification(justification)) {
    tally.add(unknownValue(`${path}.justification`, justification))
  }
  const type = vexEvent(status, {
    justification,
    note: noteOf(entry, status),
    fixedVersion: status === 'fixed' ? optionalName(entry, 'fixed-version') : '',
  })
  return { at: takeInstant(requiredField(entry, 'timestamp')), type, author: '', source: entry }
}

function noteOf(entry: Fields, status: VexStatus): string {
  if (status === 'affected') return optionalNote(entry, 'action')
  return status === 'not_affected' ? optionalNote(entry, 'impact') : ''
}
