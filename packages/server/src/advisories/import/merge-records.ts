import type { AdvisoryRecord, EventRecord } from '@berth/advisory-formats/advisory-record.ts'
import type { AdvisoryDocumentRow } from '../../storage/schema/tables.ts'

/** Merges the records of advisories that occur in several documents. */

/** The record of an advisory in one document. */
export interface RecordVersion {
  readonly record: AdvisoryRecord
  readonly document: Pick<AdvisoryDocumentRow, 'revision_ms' | 'imported_ms'>
}

/** Merges the records of several documents; returns each advisory once. */
export function mergeRecords(versions: readonly RecordVersion[]): AdvisoryRecord[] {
  return [...Map.groupBy(versions, ({ record }) => record.key).values()].map(mergeRecord)
}

/** Merges the records of one advisory: times are combined; for all other fields the newest record applies. */
function mergeRecord(versions: readonly RecordVersion[]): AdvisoryRecord {
  const records = versions.toSorted(compareAge).map(({ record }) => record)
  const newest = records.at(-1) as AdvisoryRecord
  const events = new Map<string, EventRecord>()
  for (const event of records.flatMap((record) => record.events)) events.set(JSON.stringify(event), event)
  const scores = records.flatMap(({ severities }) => severities)
  const created = records.flatMap(({ createdMs }) => createdMs ?? [])
  const updated = records.flatMap(({ updatedMs }) => updatedMs ?? [])
  return {
    ...newest,
    aliases: [...new Set(records.flatMap(({ aliases }) => aliases))],
    events: [...events.values()].sort((a, b) => a.timeMs - b.timeMs),
    severities: [...new Map(scores.map((score) => [JSON.stringify(score), score])).values()],
    createdMs: created.length === 0 ? undefined : Math.min(...created),
    updatedMs: updated.length === 0 ? undefined : Math.max(...updated),
    withdrawnMs: records.every(({ withdrawnMs }) => withdrawnMs !== undefined)
      ? newest.withdrawnMs
      : undefined,
  }
}

function compareAge({ document: a }: RecordVersion, { document: b }: RecordVersion): number {
  return a.revision_ms - b.revision_ms || (a.imported_ms < b.imported_ms ? -1 : 1)
}
