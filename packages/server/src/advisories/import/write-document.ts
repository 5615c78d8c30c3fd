import { deflateSync, inflateSync } from 'node:zlib'
import type {
  AdvisoryRecord,
  CveBlock,
  ParsedDocument,
  VulnerabilityRecord,
} from '@berth/advisory-formats/advisory-record.ts'
import { recordKey } from '@berth/advisory-formats/reading/record-key.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { deleteRows, existingKeys, insertRows } from '../../storage/bulk-rows.ts'
import type { Db, Tx } from '../../storage/db.ts'
import type { AdvisoryDocumentRow, AdvisoryScoreRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { type RecordsOf, requireRecords } from '../documents/stored-documents.ts'
import { queueScoreChanges } from '../packages/advisory-packages.ts'
import { writeDetailedRecords, writeSecdbRecords } from './advisory-changes.ts'
import { equalBytes, readInBatches } from './advisory-rows.ts'
import { mergeRecords, type RecordVersion } from './merge-records.ts'
import { writeCveBlocks } from './write-cve-blocks.ts'
import { writeVulnerabilityRecords } from './write-vulnerability-records.ts'

/**
 * Writes the contents of a document to the advisories of a group. An advisory is the merged contents of all documents that have a
 * record of it. It is withdrawn when no document has one any more.
 */

export interface WrittenDocument {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly withdrawn: number
  readonly covered: number
  readonly scored: number
  /** 1 if a newer version of the document is stored, so that this one changed nothing. */
  readonly older: number
}

export interface DocumentToWrite {
  readonly document: ParsedDocument
  /** File name or URL. */
  readonly name: string
  /** SHA-256 of the original bytes, and the bytes, compressed (deflate). */
  readonly contentHash: Uint8Array
  readonly compressed: Uint8Array
}

const noChanges: WrittenDocument = {
  created: 0,
  updated: 0,
  unchanged: 0,
  withdrawn: 0,
  covered: 0,
  scored: 0,
  older: 0,
}

/** Why a document is rejected although it could be parsed. */
export class DocumentRejected extends Error {}

/**
 * Documents in Wolfi's format are identified by their package, so documents of two source trees can have the same name, and imports of
 * them would overwrite each other. Documents of one tree may move, and then share advisory ids. An advisory that was identified by a CVE
 * ID before has it as an alias of its own ID since.
 */
function rejectOtherTree(
  knownName: string,
  knownKeys: readonly string[],
  name: string,
  { format, id, advisories }: ParsedDocument,
): void {
  if (format !== 'wolfi' || knownKeys.length === 0 || advisories.length === 0) return
  const known = new Set(knownKeys)
  const isKnown = ({ key, aliases }: AdvisoryRecord) =>
    known.has(key) || aliases.some((alias) => known.has(recordKey('wolfi', `${id}:${alias}`)))
  if (folderOf(knownName) === folderOf(name) || advisories.some(isKnown)) return
  throw new DocumentRejected(
    `has the same id ${id} as the stored document ${knownName}, but no advisory in common: import it into another group, or delete the stored document first`,
  )
}

/** Returns the folder of a path, a URL, or an archive entry: `all.zip:git.yaml`. */
function folderOf(name: string): string {
  return name.replace(/[^/:\\]*$/, '')
}

/** Writes a document. The caller has locked the group against other imports. */
export async function writeDocument(
  store: Pick<Store, 'db' | 'clock' | 'uids'>,
  tx: Tx,
  parent: Uid,
  { document, name, contentHash, compressed: packed }: DocumentToWrite,
  recordsOf: RecordsOf,
): Promise<WrittenDocument> {
  const {
    format,
    id,
    unmapped,
    advisories: records,
    scores,
    cveBlocks = [],
    records: vulnerabilityRecords,
  } = document
  const documentKey = { root: rootOf(parent), parent, format, id }
  const revisionMs = document.revisionMs ?? 0
  const known = await readDocumentRow(tx, documentKey)
  const before = known === undefined ? [] : decodeKeys(known.keys)
  if (known !== undefined && equalBytes(contentHash, known.content_hash)) {
    const present = format === 'secdb' ? await countPresent(store.db, tx, documentKey, before) : before.length
    return { ...noChanges, unchanged: present, covered: before.length - present }
  }
  if (revisionMs < (known?.revision_ms ?? 0)) return { ...noChanges, older: 1 }

  if (known !== undefined) rejectOtherTree(known.name, before, name, document)
  const written = await replaceContents(
    store,
    tx,
    documentKey,
    before,
    { revisionMs, records, scores, cveBlocks, vulnerabilityRecords },
    recordsOf,
  )
  await deleteDocumentRow(tx, documentKey)
  const row: AdvisoryDocumentRow = {
    ...documentKey,
    name,
    content_hash: contentHash,
    revision_ms: revisionMs,
    imported_ms: store.clock(),
    keys: deflateSync(JSON.stringify(records.map(({ key }) => key))),
    unmapped: JSON.stringify(unmapped),
    content: packed,
  }
  await tx.insertInto('advisory_documents').values(row).execute()
  return written
}

/** Deletes a document and the advisories that no other document has; undefined if it does not exist. The caller has locked the group. */
export async function deleteDocument(
  store: Pick<Store, 'db' | 'clock' | 'uids'>,
  tx: Tx,
  parent: Uid,
  { format, id }: Pick<ParsedDocument, 'format' | 'id'>,
  recordsOf: RecordsOf,
): Promise<WrittenDocument | undefined> {
  const documentKey = { root: rootOf(parent), parent, format, id }
  const known = await readDocumentRow(tx, documentKey)
  if (known === undefined) return undefined
  const empty = { revisionMs: 0, records: [], scores: [], cveBlocks: [], vulnerabilityRecords: [] }
  const written = await replaceContents(store, tx, documentKey, decodeKeys(known.keys), empty, recordsOf)
  await deleteDocumentRow(tx, documentKey)
  return written
}

interface DocumentContents {
  readonly revisionMs: number
  readonly records: readonly AdvisoryRecord[]
  readonly scores: ParsedDocument['scores']
  readonly cveBlocks: readonly CveBlock[]
  readonly vulnerabilityRecords: readonly VulnerabilityRecord[]
}

/** Replaces the records of a document. */
async function replaceContents(
  store: Pick<Store, 'db' | 'clock' | 'uids'>,
  tx: Tx,
  documentKey: DocumentKey,
  before: readonly string[],
  contents: DocumentContents,
  recordsOf: RecordsOf,
): Promise<WrittenDocument> {
  const { root, format, id } = documentKey
  const parent = documentKey.parent as Uid
  const { db } = store
  const keys = new Set(contents.records.map(({ key }) => key))
  const removedKeys = before.filter((key) => !keys.has(key))
  const merged = await mergeWithOtherDocuments(tx, documentKey, contents, removedKeys, recordsOf)
  const mergedKeys = new Set(merged.map(({ key }) => key))
  const change = {
    parent,
    before,
    merged,
    orphanedKeys: removedKeys.filter((key) => !mergedKeys.has(key)),
    now: store.clock(),
  }
  const written =
    format === 'secdb'
      ? await writeSecdbRecords(store, tx, change)
      : await writeDetailedRecords(store, tx, change, recordsOf)
  const source = (key: string) => ({ root, parent, key, format, id })
  await deleteRows(db, tx, 'advisory_sources', removedKeys.map(source))
  await insertRows(db, tx, 'advisory_sources', [...keys].map(source), { ifAbsent: true })
  const scored = await writeScores(db, tx, documentKey, contents.scores)
  await writeVulnerabilityRecords(db, tx, documentKey, contents.vulnerabilityRecords)
  const listed = await writeCveBlocks(db, tx, documentKey, contents.cveBlocks)
  return { ...noChanges, ...written, scored: Math.max(scored, listed) }
}

async function deleteDocumentRow(tx: Tx, { root, parent, format, id }: DocumentKey): Promise<void> {
  await tx
    .deleteFrom('advisory_documents')
    .where('root', '=', root)
    .where('parent', '=', parent)
    .where('format', '=', format)
    .where('id', '=', id)
    .execute()
}

type DocumentKey = Pick<AdvisoryDocumentRow, 'root' | 'parent' | 'format' | 'id'>

function readDocumentRow(tx: Tx, { root, parent, format, id }: DocumentKey) {
  return tx
    .selectFrom('advisory_documents')
    .select(['name', 'content_hash', 'revision_ms', 'keys'])
    .where('root', '=', root)
    .where('parent', '=', parent)
    .where('format', '=', format)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Decodes the keys of the document's previous records. */
function decodeKeys(keys: Uint8Array): string[] {
  return JSON.parse(inflateSync(keys).toString())
}

/** Returns how many of some advisories exist. */
async function countPresent(
  db: Db,
  tx: Tx,
  { root, parent }: DocumentKey,
  keys: readonly string[],
): Promise<number> {
  const found = await existingKeys(
    db,
    tx,
    'advisories',
    keys.map((key) => ({ root, parent, key })),
  )
  return found.length
}

/**
 * Merges the new and the previous records of a document with those of all other documents. Few advisories have more than one
 * document.
 */
async function mergeWithOtherDocuments(
  tx: Tx,
  documentKey: DocumentKey,
  { records, revisionMs }: DocumentContents,
  removedKeys: readonly string[],
  recordsOf: RecordsOf,
): Promise<readonly AdvisoryRecord[]> {
  const { root, parent } = documentKey
  const links = await readInBatches([...records.map(({ key }) => key), ...removedKeys], (some) =>
    tx
      .selectFrom('advisory_sources')
      .select(['key', 'format', 'id'])
      .where('root', '=', root)
      .where('parent', '=', parent)
      .where('key', 'in', some)
      .execute(),
  )
  const others = links.filter(({ format, id }) => format !== documentKey.format || id !== documentKey.id)
  if (others.length === 0) return records
  const wanted = new Set(others.map(({ key }) => key))
  const documents = new Map(others.map(({ format, id }) => [`${format} ${id}`, { format, id }]))
  const known = []
  for (const { format, id } of documents.values()) {
    const row = await tx
      .selectFrom('advisory_documents')
      .select(['format', 'id', 'content_hash', 'revision_ms', 'imported_ms'])
      .where('root', '=', root)
      .where('parent', '=', parent)
      .where('format', '=', format)
      .where('id', '=', id)
      .executeTakeFirst()
    if (row !== undefined) known.push(row)
  }
  // Between two records without a time, the one that is imported now applies.
  const now = { revision_ms: revisionMs, imported_ms: Number.POSITIVE_INFINITY }
  const versions = [{ document: now, records }, ...requireRecords(known, recordsOf)].flatMap(
    ({ document, records: its }) =>
      its.filter(({ key }) => wanted.has(key)).map((record): RecordVersion => ({ record, document })),
  )
  return [...records.filter(({ key }) => !wanted.has(key)), ...mergeRecords(versions)]
}

/** Replaces the scores and weaknesses of a document; returns for how many vulnerabilities they changed. */
async function writeScores(
  db: Db,
  tx: Tx,
  documentKey: DocumentKey,
  scores: ParsedDocument['scores'],
): Promise<number> {
  const { root, parent, format, id } = documentKey
  const before = await tx
    .selectFrom('advisory_scores')
    .selectAll()
    .where('root', '=', root)
    .where('parent', '=', parent)
    .where('format', '=', format)
    .where('id', '=', id)
    .execute()
  const rows: AdvisoryScoreRow[] = scores.map(({ alias, component, severities, cwes }) => ({
    root,
    alias,
    parent,
    format,
    id,
    component,
    severities: JSON.stringify(severities.map(({ type, score }) => ({ type, score }))),
    cwes: cwes.join(' '),
  }))
  const textOf = ({ alias, component, severities, cwes }: AdvisoryScoreRow) =>
    JSON.stringify([alias, component, severities, cwes])
  const previous = new Set(before.map(textOf))
  const current = new Set(rows.map(textOf))
  const added = rows.filter((row) => !previous.has(textOf(row)))
  const dropped = before.filter((row) => !current.has(textOf(row)))
  await deleteRows(
    db,
    tx,
    'advisory_scores',
    dropped.map(({ alias, component }) => ({ root, alias, parent, format, id, component })),
  )
  await insertRows(db, tx, 'advisory_scores', added)
  const changed = new Set([...added, ...dropped].map(({ alias }) => alias))
  await queueScoreChanges(db, tx, parent, [...changed])
  return changed.size
}
