import { deflateSync, inflateSync } from 'node:zlib'
import { rootOf, type Uid } from '../core/uid.ts'
import type { Db, Tx } from '../storage/db.ts'
import { deleteRows, insertRows, presentKeys } from '../storage/rows-at-once.ts'
import type { Store } from '../storage/store.ts'
import type { AdvisoryDocumentRow, AdvisoryScoreRow } from '../storage/tables.ts'
import type { AdvisoryDocument, AdvisoryRecord } from './advisory-record.ts'
import { equal, inParts, readRows, removeRows, withdraw, writeRecords } from './advisory-rows.ts'
import { isOfSecdb, isTold, lost, relatives, secdbsOf, tellerOf, toldBy } from './covers.ts'
import { type RecordsOf, recordsOfAll } from './kept-documents.ts'
import { merge, type Version } from './merge.ts'

/**
 * Makes the advisories of a group say what a document says. An advisory is what all documents that tell of it say together; what no
 * document tells of any more is withdrawn.
 */

export interface WrittenDocument {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly withdrawn: number
  readonly covered: number
  readonly scored: number
  /** 1: a newer version of the document is there, and this one changed nothing. */
  readonly older: number
}

export interface DocumentToWrite {
  readonly document: AdvisoryDocument
  /** File name or address. */
  readonly name: string
  /** SHA-256 of the bytes that were read, and the bytes, compressed (deflate). */
  readonly contentHash: Uint8Array
  readonly packed: Uint8Array
}

const nothing: WrittenDocument = {
  created: 0,
  updated: 0,
  unchanged: 0,
  withdrawn: 0,
  covered: 0,
  scored: 0,
  older: 0,
}

/** Why a document is not taken although it could be read. */
export class NotTaken extends Error {}

/**
 * Documents of Wolfi's form are named by their package, so two trees of them have documents of one name, and each import would undo the
 * other one. Those of one tree may move, and then have ids in common.
 */
function refuseOtherTree(
  knownName: string,
  knownKeys: readonly string[],
  name: string,
  { format, id, advisories }: AdvisoryDocument,
): void {
  if (format !== 'wolfi' || knownKeys.length === 0 || advisories.length === 0) return
  const known = new Set(knownKeys)
  if (folderOf(knownName) === folderOf(name) || advisories.some(({ key }) => known.has(key))) return
  throw new NotTaken(
    `is about ${id} like ${knownName}, which is there, and has none of its ids: import it into another group, or delete the other one first`,
  )
}

/** Of a path, an address, or an entry of an archive: `all.zip:git.yaml`. */
function folderOf(name: string): string {
  return name.replace(/[^/:\\]*$/, '')
}

/** Of one group. Its caller holds the group, and lets nobody else import into it. */
export async function writeDocument(
  store: Pick<Store, 'db' | 'clock' | 'uids'>,
  tx: Tx,
  parent: Uid,
  { document, name, contentHash, packed }: DocumentToWrite,
  recordsOf: RecordsOf,
): Promise<WrittenDocument> {
  const { format, id, unmapped, advisories: records, scores } = document
  const place = { root: rootOf(parent), parent, format, id }
  const revisionMs = document.revisionMs ?? 0
  const known = await readKnown(tx, place)
  const before = known === undefined ? [] : keysIn(known.keys)
  if (known !== undefined && equal(contentHash, known.content_hash)) {
    const made = format === 'secdb' ? await countMade(store.db, tx, place, before) : before.length
    return { ...nothing, unchanged: made, covered: before.length - made }
  }
  if (revisionMs < (known?.revision_ms ?? 0)) return { ...nothing, older: 1 }

  if (known !== undefined) refuseOtherTree(known.name, before, name, document)
  const written = await replaceContents(store, tx, place, before, { revisionMs, records, scores }, recordsOf)
  await deleteDocumentRow(tx, place)
  const row: AdvisoryDocumentRow = {
    ...place,
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

/** Takes a document away, and what no other tells of; undefined where it is not there. Its caller holds the group. */
export async function removeDocument(
  store: Pick<Store, 'db' | 'clock' | 'uids'>,
  tx: Tx,
  parent: Uid,
  { format, id }: Pick<AdvisoryDocument, 'format' | 'id'>,
  recordsOf: RecordsOf,
): Promise<WrittenDocument | undefined> {
  const place = { root: rootOf(parent), parent, format, id }
  const known = await readKnown(tx, place)
  if (known === undefined) return undefined
  const empty = { revisionMs: 0, records: [], scores: [] }
  const written = await replaceContents(store, tx, place, keysIn(known.keys), empty, recordsOf)
  await deleteDocumentRow(tx, place)
  return written
}

interface Contents {
  readonly revisionMs: number
  readonly records: readonly AdvisoryRecord[]
  readonly scores: AdvisoryDocument['scores']
}

/** Makes a document tell of these records, and no longer of what it told of before. */
async function replaceContents(
  store: Pick<Store, 'db' | 'clock' | 'uids'>,
  tx: Tx,
  place: Place,
  before: readonly string[],
  contents: Contents,
  recordsOf: RecordsOf,
): Promise<WrittenDocument> {
  const { root, format, id } = place
  const parent = place.parent as Uid
  const { db } = store
  const keys = new Set(contents.records.map(({ key }) => key))
  const gone = before.filter((key) => !keys.has(key))
  const merged = await withOtherDocuments(tx, place, contents, gone, recordsOf)
  const told = new Set(merged.map(({ key }) => key))
  const change = { parent, before, merged, left: gone.filter((key) => !told.has(key)), now: store.clock() }
  const written =
    format === 'secdb'
      ? await writeEntries(store, tx, change)
      : await writeCovering(store, tx, change, recordsOf)
  const source = (key: string) => ({ root, parent, key, format, id })
  await deleteRows(db, tx, 'advisory_sources', gone.map(source))
  await insertRows(db, tx, 'advisory_sources', [...keys].map(source), { ifAbsent: true })
  const scored = await writeScores(db, tx, place, contents.scores)
  return { ...nothing, ...written, scored }
}

interface Change {
  readonly parent: Uid
  /** Keys of what the document told of before. */
  readonly before: readonly string[]
  /** What it tells of now, and what others tell of that it told of before. */
  readonly merged: readonly AdvisoryRecord[]
  /** Keys of what no document tells of any more. */
  readonly left: readonly string[]
  readonly now: number
}

type Written = Pick<WrittenDocument, 'created' | 'updated' | 'unchanged' | 'withdrawn' | 'covered'>

/** Of a security database: but for what other documents tell more of. */
async function writeEntries(
  store: Pick<Store, 'db' | 'uids'>,
  tx: Tx,
  { parent, merged, left, now }: Change,
): Promise<Written> {
  const { db } = store
  const known = await relatives(
    db,
    tx,
    parent,
    merged.map(({ artifactName }) => artifactName),
  )
  const told = toldBy(known)
  const covered = merged.filter((record) => isTold(record, told)).map(({ key }) => key)
  const isCovered = new Set(covered)
  const records = merged.filter(({ key }) => !isCovered.has(key))
  const changes = await writeRecords(store, tx, parent, records, now)
  await removeRows(db, tx, parent, covered)
  const withdrawn = await withdraw(db, tx, parent, left, now)
  return { ...changes, withdrawn, covered: covered.length }
}

/** Of any other document: with the entries of security databases that it covers from now on, or no longer. */
async function writeCovering(
  store: Pick<Store, 'db' | 'uids'>,
  tx: Tx,
  { parent, before, merged, left, now }: Change,
  recordsOf: RecordsOf,
): Promise<Written> {
  const { db } = store
  const write = async () => {
    const changes = await writeRecords(store, tx, parent, merged, now)
    return { ...changes, withdrawn: await withdraw(db, tx, parent, left, now) }
  }
  const databases = await secdbsOf(tx, parent)
  if (databases.length === 0) return { ...(await write()), covered: 0 }

  const rows = [
    ...(await readRows(tx, parent, [...new Set([...before, ...merged.map(({ key }) => key)])])).values(),
  ]
  const tellers = rows.filter((row) => row.deleted_ms === undefined).map(tellerOf)
  const uncovered = lost(
    toldBy(tellers),
    toldBy(merged.filter(({ withdrawnMs }) => withdrawnMs === undefined)),
  )
  const entries = uncovered.size === 0 ? [] : recordsOfAll(databases, recordsOf)
  const written = await write()

  const names = [...tellers, ...merged].flatMap(({ artifactName, origin }) => [artifactName, origin])
  const known = await relatives(db, tx, parent, names)
  const told = toldBy(known)
  const isCovered = (entry: Parameters<typeof isTold>[0]) => isTold(entry, told)
  const covered = known.filter((teller) => isOfSecdb(teller) && isCovered(teller)).map(({ key }) => key)
  await removeRows(db, tx, parent, covered)
  const versions = entries.flatMap(({ document, records }) =>
    records
      .filter((record) => isTold(record, uncovered) && !isCovered(record))
      .map((record): Version => ({ record, document })),
  )
  const back = await writeRecords(store, tx, parent, merge(versions), now)
  return {
    ...written,
    created: written.created + back.created,
    updated: written.updated + back.updated,
    covered: covered.length,
  }
}

async function deleteDocumentRow(tx: Tx, { root, parent, format, id }: Place): Promise<void> {
  await tx
    .deleteFrom('advisory_documents')
    .where('root', '=', root)
    .where('parent', '=', parent)
    .where('format', '=', format)
    .where('id', '=', id)
    .execute()
}

type Place = Pick<AdvisoryDocumentRow, 'root' | 'parent' | 'format' | 'id'>

function readKnown(tx: Tx, { root, parent, format, id }: Place) {
  return tx
    .selectFrom('advisory_documents')
    .select(['name', 'content_hash', 'revision_ms', 'keys'])
    .where('root', '=', root)
    .where('parent', '=', parent)
    .where('format', '=', format)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** The advisories that a document told of before. */
function keysIn(keys: Uint8Array): string[] {
  return JSON.parse(inflateSync(keys).toString())
}

/** How many of some advisories are there. */
async function countMade(db: Db, tx: Tx, { root, parent }: Place, keys: readonly string[]): Promise<number> {
  const found = await presentKeys(
    db,
    tx,
    'advisories',
    keys.map((key) => ({ root, parent, key })),
  )
  return found.length
}

/**
 * The records of a document, and of those that it no longer has, as all documents together tell of them: few advisories have more
 * than one.
 */
async function withOtherDocuments(
  tx: Tx,
  place: Place,
  { records, revisionMs }: Contents,
  gone: readonly string[],
  recordsOf: RecordsOf,
): Promise<readonly AdvisoryRecord[]> {
  const { root, parent } = place
  const links = await inParts([...records.map(({ key }) => key), ...gone], (some) =>
    tx
      .selectFrom('advisory_sources')
      .select(['key', 'format', 'id'])
      .where('root', '=', root)
      .where('parent', '=', parent)
      .where('key', 'in', some)
      .execute(),
  )
  const others = links.filter(({ format, id }) => format !== place.format || id !== place.id)
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
  // Of two without a time of their own, the one that comes now is right.
  const now = { revision_ms: revisionMs, imported_ms: Number.POSITIVE_INFINITY }
  const versions = [{ document: now, records }, ...recordsOfAll(known, recordsOf)].flatMap(
    ({ document, records: its }) =>
      its.filter(({ key }) => wanted.has(key)).map((record): Version => ({ record, document })),
  )
  return [...records.filter(({ key }) => !wanted.has(key)), ...merge(versions)]
}

/** Replaces what a document said of severities; returns how many vulnerabilities have other scores now. */
async function writeScores(
  db: Db,
  tx: Tx,
  place: Place,
  scores: AdvisoryDocument['scores'],
): Promise<number> {
  const { root, parent, format, id } = place
  const before = await tx
    .selectFrom('advisory_scores')
    .selectAll()
    .where('root', '=', root)
    .where('parent', '=', parent)
    .where('format', '=', format)
    .where('id', '=', id)
    .execute()
  const rows: AdvisoryScoreRow[] = scores.map(({ alias, component, severities }) => ({
    root,
    alias,
    parent,
    format,
    id,
    component,
    severities: JSON.stringify(severities.map(({ type, score }) => ({ type, score }))),
  }))
  const textOf = ({ alias, component, severities }: AdvisoryScoreRow) =>
    JSON.stringify([alias, component, severities])
  const old = new Set(before.map(textOf))
  const fresh = new Set(rows.map(textOf))
  const added = rows.filter((row) => !old.has(textOf(row)))
  const dropped = before.filter((row) => !fresh.has(textOf(row)))
  await deleteRows(
    db,
    tx,
    'advisory_scores',
    dropped.map(({ alias, component }) => ({ root, alias, parent, format, id, component })),
  )
  await insertRows(db, tx, 'advisory_scores', added)
  return new Set([...added, ...dropped].map(({ alias }) => alias)).size
}
