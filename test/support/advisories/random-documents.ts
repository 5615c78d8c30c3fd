import type { AdvisoryRecord, EventRecord, ParsedDocument } from '@berth/advisory-formats/advisory-record.ts'
import {
  AdvisoryEventSchema,
  Severity_Type as Scoring,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { RecordsOf } from '@berth/server/advisories/documents/stored-documents.ts'
import { type WrittenDocument, writeDocument } from '@berth/server/advisories/import/write-document.ts'
import { lockAdvisories, markAdvisoriesChanged } from '@berth/server/advisories/storage/advisory-groups.ts'
import type { Uid } from '@berth/server/api/uid.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import type { Store } from '@berth/server/storage/store.ts'
import { create } from '@bufbuild/protobuf'
import fc from 'fast-check'

/** Random documents of a small vocabulary, so that filters meet. */

const events: readonly Parameters<typeof create<typeof AdvisoryEventSchema>>[1][] = [
  { type: { case: 'detection', value: { type: { case: 'manual', value: {} } } } },
  { type: { case: 'detection', value: { type: { case: 'nvdapi', value: { cpeFound: 'cpe:x' } } } } },
  { type: { case: 'fixed', value: { fixedVersion: '1.2.3-r0' } } },
  { type: { case: 'falsePositiveDetermination', value: { note: 'no', type: 2 } } },
  { type: { case: 'fixNotPlanned', value: { note: 'old' } } },
  { type: { case: 'pendingUpstreamFix', value: { note: 'waits' } } },
]

const event: fc.Arbitrary<EventRecord> = fc.record({
  timeMs: fc.integer({ min: 1_600_000_000_000, max: 1_600_000_000_005 }),
  author: fc.constantFrom('', 'Ada', 'Grace'),
  type: fc.constantFrom(...events).map((init) => create(AdvisoryEventSchema, init).type),
})

const word = fc.constantFrom('', 'openssl', 'OpenSSH', 'go', 'golang.org/x/net', 'straße', 'x'.repeat(600))

export const record: fc.Arbitrary<Omit<AdvisoryRecord, 'key'>> = fc.record({
  advisoryId: fc.constantFrom('', 'CGA-2222-3333-4444', 'CGA-xxxx-wwww-vvvv'),
  legacyAdvisoryId: fc.constantFrom('', 'CGA-2222-3333-4444', 'CVE-2024-1'),
  author: fc.constantFrom('', 'Ada'),
  artifactName: word,
  artifactType: fc.constantFrom('apk', 'image', ''),
  artifactArchitecture: fc.constantFrom('', 'x86_64'),
  componentName: word,
  componentLocation: fc.constantFrom('', '/usr/bin/go', `/${'long/'.repeat(500)}`),
  componentType: fc.constantFrom('', 'go-module'),
  origin: fc.constantFrom('', 'openssl', 'go'),
  product: fc.constantFrom('', 'pkg:apk/wolfi/git@2.39.0-r1'),
  aliases: fc.uniqueArray(fc.constantFrom('CVE-2024-1', 'CVE-2024-11', 'GHSA-2222-3333-4444', 'GO-2024-1'), {
    maxLength: 3,
  }),
  events: fc
    .uniqueArray(event, { maxLength: 4, selector: (one) => JSON.stringify(one) })
    .map((all) => all.toSorted((a, b) => a.timeMs - b.timeMs)),
  severities: fc.subarray([{ type: Scoring.CVSS_V3, score: 'CVSS:3.1/AV:N' }]),
  createdMs: fc.constantFrom(undefined, 1_600_000_000_000),
  updatedMs: fc.constantFrom(undefined, 1_600_000_000_001, 1_600_000_000_003),
  withdrawnMs: fc.oneof(
    { weight: 9, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant(1_600_000_000_009) },
  ),
})

export function parsedDocument(
  id: string,
  records: readonly Omit<AdvisoryRecord, 'key'>[],
  more: Partial<ParsedDocument> = {},
): ParsedDocument {
  return {
    format: 'wolfi',
    id,
    revisionMs: undefined,
    advisories: records.map((one, at) => ({ ...one, key: `wolfi:${id}:${at}` })),
    scores: [],
    records: [],
    unmapped: [],
    ...more,
  }
}

const written = new Map<string, ParsedDocument>()

/** Writes a document as an import does, without reading it. */
export function importParsed(
  store: Store,
  parent: string,
  document: ParsedDocument,
): Promise<WrittenDocument> {
  const content = Buffer.from(JSON.stringify(document))
  written.set(content.toString(), document)
  const recordsOf: RecordsOf = ({ content_hash }) =>
    written.get(Buffer.from(content_hash).toString())?.advisories
  return inTransaction(store.db, async (tx) => {
    await lockAdvisories(tx, parent as Uid)
    const incoming = { document, name: document.id, contentHash: content, compressed: content }
    const result = await writeDocument(store, tx, parent as Uid, incoming, recordsOf)
    await markAdvisoriesChanged(tx, parent as Uid, store.clock())
    return result
  })
}
