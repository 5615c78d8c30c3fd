import { createHash } from 'node:crypto'
import type { AdvisoryRecord, EventRecord } from '@berth/advisory-formats/advisory-record.ts'
import { compressOsvExtension } from '@berth/advisory-formats/osv/osv-extension.ts'
import {
  type Advisory,
  type AdvisoryEvent,
  AdvisoryEventSchema,
  AdvisorySchema,
  ReviewState,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { timestampOf } from '../../api/messages.ts'
import { parentOf, rootOf } from '../../api/uid.ts'
import type { AdvisoryRow, WithdrawnAdvisoryRow } from '../../storage/schema/tables.ts'
import { searchText } from '../search/facets.ts'

/** Maps records of documents to rows, and rows to messages. */

/** The columns that an advisory is read from. */
export type AdvisoryContentRow = Pick<
  AdvisoryRow,
  'uid' | 'advisory_id' | 'artifact_name' | 'component_name' | 'content' | 'created_ms' | 'updated_ms'
> &
  Partial<Pick<WithdrawnAdvisoryRow, 'deleted_ms'>>

export function toAdvisory(row: AdvisoryContentRow): Advisory {
  const advisory = fromBinary(AdvisorySchema, row.content)
  advisory.uid = row.uid
  advisory.advisoryId = row.advisory_id
  advisory.artifactName = row.artifact_name
  advisory.componentName = row.component_name
  advisory.createTime = timestampOf(row.created_ms)
  advisory.updateTime = timestampOf(row.updated_ms)
  if (row.deleted_ms !== undefined) advisory.deleteTime = timestampOf(row.deleted_ms)
  return advisory
}

/** Returns the hash of a record: equal for equal contents. */
export function hashRecord(record: AdvisoryRecord): Uint8Array {
  // Increase the number when the same record results in a different row.
  return createHash('sha256')
    .update(`1 ${JSON.stringify(record)}`)
    .digest()
}

export interface RowTimes {
  /** The time of the import, for records without times. */
  readonly now: number
  /** The current row of the advisory. */
  readonly before: AdvisoryRow | undefined
}

/** Returns the new row of an advisory. */
export function toAdvisoryRow(
  uid: string,
  record: AdvisoryRecord,
  hash: Uint8Array,
  times: RowTimes,
): AdvisoryRow {
  const { now, before } = times
  const advisory = create(AdvisorySchema, {
    author: record.author,
    artifactType: record.artifactType,
    artifactArchitecture: record.artifactArchitecture,
    componentLocation: record.componentLocation,
    componentType: record.componentType,
    aliases: [...record.aliases],
    events: toEvents(uid, record.events, times),
    severities: record.severities.map(({ type, score }) => ({ type, score })),
    ...(record.legacyAdvisoryId && { legacyAdvisoryId: record.legacyAdvisoryId }),
  })
  const content = toBinary(AdvisorySchema, advisory)
  advisory.artifactName = record.artifactName
  advisory.componentName = record.componentName
  // A change is always later than the previous state, whatever time the document states.
  const changedMs = record.updatedMs ?? now
  return {
    root: rootOf(uid),
    uid,
    parent: parentOf(uid),
    advisory_id: record.advisoryId || deriveAdvisoryId(record.key),
    artifact_name: record.artifactName,
    component_name: record.componentName,
    origin: record.origin,
    product: record.product,
    component_product: record.componentProduct ?? '',
    key: record.key,
    record_hash: hash,
    content,
    created_ms: record.createdMs ?? before?.created_ms ?? now,
    updated_ms:
      before === undefined || changedMs > before.updated_ms
        ? changedMs
        : Math.max(now, before.updated_ms + 1),
    search: searchText(advisory),
    osv: compressOsvExtension(record.osv ?? ''),
  }
}

const ID_ALPHABET = '23456789cfghjmpqrvwx'

/** Derives the id from the key: the same wherever it is imported. */
function deriveAdvisoryId(key: string): string {
  const letters = [...createHash('sha256').update(key).digest().subarray(0, 12)]
    .map((byte) => ID_ALPHABET[byte % ID_ALPHABET.length])
    .join('')
  return `CGA-${letters.slice(0, 4)}-${letters.slice(4, 8)}-${letters.slice(8)}`
}

function toEvents(uid: string, records: readonly EventRecord[], { now, before }: RowTimes): AdvisoryEvent[] {
  const knownTimes = new Map<string, number>()
  if (before !== undefined)
    for (const event of fromBinary(AdvisorySchema, before.content).events)
      if (event.createTime !== undefined) knownTimes.set(eventIdentity(event), timestampMs(event.createTime))
  const events = records.map(({ timeMs, author, type, issue }) => {
    const event = create(AdvisoryEventSchema, {
      author,
      type,
      // Published data was reviewed before.
      reviewState: ReviewState.APPROVED,
      ...(issue !== undefined && { issue }),
    })
    const identity = eventIdentity(event)
    // In formats without times, an event has the time of the first import that had it.
    const ms = timeMs === 0 ? (knownTimes.get(identity) ?? now) : timeMs
    event.createTime = timestampOf(ms)
    const digest = createHash('sha256').update(`${timeMs} ${identity}`).digest('hex')
    event.uid = `${uid}/${digest.slice(0, 16)}`
    return event
  })
  return events
}

/** Returns the identity of an event: its content without the time. */
function eventIdentity({ author, type, issue }: AdvisoryEvent): string {
  return JSON.stringify([author, issue ?? null, type])
}
