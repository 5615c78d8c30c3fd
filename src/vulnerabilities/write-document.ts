import { deflateSync, inflateSync } from 'node:zlib'
import { limits } from '../core/limits.ts'
import { pathBelowRoot, rangeBelow, rootOf, type Uid } from '../core/uid.ts'
import { countAllInserted, countDeleted } from '../storage/counts.ts'
import type { Db, Tx } from '../storage/db.ts'
import { recountParts } from '../storage/part-counts.ts'
import { type CountedChange, countPostings } from '../storage/posting-counts.ts'
import { postedIn } from '../storage/postings.ts'
import { refuseBeyondLimit } from '../storage/rows.ts'
import { deleteRows, insertRows } from '../storage/rows-at-once.ts'
import { runInTransaction, sqlText } from '../storage/sql-text.ts'
import type { Store } from '../storage/store.ts'
import type {
  AdvisoryDocumentRow,
  AdvisoryRow,
  AdvisoryScoreRow,
  WithdrawnAdvisoryRow,
} from '../storage/tables.ts'
import type { AdvisoryDocument, AdvisoryRecord, EventRecord } from './advisory-record.ts'
import { countedValuesOf, facets, postingKey, postingsOf } from './facets.ts'
import { readDocument } from './formats/read-document.ts'
import { addSearchedTexts } from './searched-texts.ts'
import { recordHash, rowOf, toAdvisory } from './stored-advisory.ts'

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
}

export interface DocumentToWrite {
  readonly document: AdvisoryDocument
  /** File name or address. */
  readonly name: string
  /** SHA-256 of the bytes that were read, and the bytes, compressed (deflate). */
  readonly contentHash: Uint8Array
  readonly packed: Uint8Array
}

const nothing: WrittenDocument = { created: 0, updated: 0, unchanged: 0, withdrawn: 0, covered: 0, scored: 0 }

/** Of one group. Its caller holds the group, and lets nobody else import into it. */
export async function writeDocument(
  store: Pick<Store, 'db' | 'clock' | 'uids'>,
  tx: Tx,
  parent: Uid,
  { document, name, contentHash, packed }: DocumentToWrite,
): Promise<WrittenDocument> {
  const { format, id, unmapped } = document
  const place = { root: rootOf(parent), parent, format, id }
  const revisionMs = document.revisionMs ?? 0
  const known = await readKnown(tx, place)
  const before = known === undefined ? [] : keysIn(known.keys)
  const isSame = known !== undefined && equal(contentHash, known.content_hash)
  if (isSame || revisionMs < (known?.revision_ms ?? 0)) return { ...nothing, unchanged: before.length }

  const { records, covered } = await uncovered(store.db, tx, parent, document)
  const written = await replaceContents(store, tx, place, before, { ...document, revisionMs, records })
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
  return { ...written, covered }
}

/** Takes a document away, and what no other tells of; undefined where it is not there. Its caller holds the group. */
export async function removeDocument(
  store: Pick<Store, 'db' | 'clock' | 'uids'>,
  tx: Tx,
  parent: Uid,
  { format, id }: Pick<AdvisoryDocument, 'format' | 'id'>,
): Promise<WrittenDocument | undefined> {
  const place = { root: rootOf(parent), parent, format, id }
  const known = await readKnown(tx, place)
  if (known === undefined) return undefined
  const empty = { revisionMs: 0, records: [], scores: [] }
  const written = await replaceContents(store, tx, place, keysIn(known.keys), empty)
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
  { db, clock, uids }: Pick<Store, 'db' | 'clock' | 'uids'>,
  tx: Tx,
  place: Place,
  before: readonly string[],
  { revisionMs, records, scores }: Contents,
): Promise<WrittenDocument> {
  const { root, format, id } = place
  const parent = place.parent as Uid
  const now = clock()
  const keys = new Set(records.map(({ key }) => key))
  const gone = before.filter((key) => !keys.has(key))
  const merged = await withOtherDocuments(tx, place, records, revisionMs, gone)

  const changes = await writeRecords({ db, uids }, tx, parent, merged, now)
  const replaced = format === 'secdb' ? [] : await coveredBy(db, tx, parent, records)
  const told = new Set(merged.map(({ key }) => key))
  const left = gone.filter((key) => !told.has(key))
  const withdrawn = await withdraw(db, tx, parent, [...left, ...replaced], now)
  const source = (key: string) => ({ root, parent, key, format, id })
  await deleteRows(db, tx, 'advisory_sources', gone.map(source))
  await insertRows(db, tx, 'advisory_sources', [...keys].map(source), { ifAbsent: true })
  const scored = await writeScores(db, tx, place, scores)
  return { ...changes, withdrawn, covered: 0, scored }
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
    .select(['content_hash', 'revision_ms', 'keys'])
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

const KEYS_AT_ONCE = 500

async function inParts<T>(
  keys: readonly string[],
  read: (some: readonly string[]) => Promise<T[]>,
): Promise<T[]> {
  const found: T[] = []
  for (let at = 0; at < keys.length; at += KEYS_AT_ONCE)
    found.push(...(await read(keys.slice(at, at + KEYS_AT_ONCE))))
  return found
}

/**
 * The records of a document, and of those that it no longer has, as all documents together tell of them. The others are read
 * again: few advisories have more than one.
 */
async function withOtherDocuments(
  tx: Tx,
  place: Place,
  records: readonly AdvisoryRecord[],
  revisionMs: number,
  gone: readonly string[],
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
  const versions: Version[] = records
    .filter(({ key }) => wanted.has(key))
    .map((record) => ({ record, revisionMs }))
  const documents = new Map(others.map(({ format, id }) => [`${format} ${id}`, { format, id }]))
  for (const { format, id } of documents.values()) {
    const row = await tx
      .selectFrom('advisory_documents')
      .selectAll()
      .where('root', '=', root)
      .where('parent', '=', parent)
      .where('format', '=', format)
      .where('id', '=', id)
      .executeTakeFirst()
    if (row === undefined) continue
    const read = readDocument(row.name, row.format as AdvisoryDocument['format'], inflate(row.content))
    if ('rejection' in read) throw new Error(`${row.name}, which was read before, is refused now`)
    for (const record of read.document.advisories)
      if (wanted.has(record.key)) versions.push({ record, revisionMs: row.revision_ms })
  }
  const together = [...Map.groupBy(versions, ({ record }) => record.key).values()].map(merge)
  return [...records.filter(({ key }) => !wanted.has(key)), ...together]
}

function inflate(content: Uint8Array): Uint8Array {
  return inflateSync(content, { maxOutputLength: limits.advisoryDocumentBytesMax })
}

interface Version {
  readonly record: AdvisoryRecord
  readonly revisionMs: number
}

/** What several documents say of one advisory: what they tell of its time adds up, of the rest the newest is right. */
function merge(versions: readonly Version[]): AdvisoryRecord {
  const records = versions.toSorted((a, b) => a.revisionMs - b.revisionMs).map(({ record }) => record)
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

interface Changes {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
}

async function writeRecords(
  { db, uids }: Pick<Store, 'db' | 'uids'>,
  tx: Tx,
  parent: Uid,
  records: readonly AdvisoryRecord[],
  now: number,
): Promise<Changes> {
  const known = await readRows(
    tx,
    parent,
    records.map(({ key }) => key),
  )
  const made: (AdvisoryRow | WithdrawnAdvisoryRow)[] = []
  const replaced: Stored[] = []
  let unchanged = 0
  for (const record of records) {
    const before = known.get(record.key)
    const hash = recordHash(record)
    const isBack = before?.deleted_ms !== undefined && record.withdrawnMs === undefined
    if (before !== undefined && !isBack && equal(hash, before.record_hash)) {
      unchanged++
      continue
    }
    if (before !== undefined) replaced.push(before)
    const row = rowOf(before?.uid ?? uids.belowInTime(parent, now), record, hash, { now, before })
    made.push(record.withdrawnMs === undefined ? row : { ...row, deleted_ms: record.withdrawnMs })
  }
  await replaceRows(db, tx, replaced, made)
  return { created: made.length - replaced.length, updated: replaced.length, unchanged }
}

/** An advisory that is there, withdrawn or not. */
type Stored = AdvisoryRow & { readonly deleted_ms?: number }

async function readRows(tx: Tx, parent: Uid, keys: readonly string[]): Promise<ReadonlyMap<string, Stored>> {
  const root = rootOf(parent)
  const found = new Map<string, Stored>()
  for (const table of ['advisories', 'withdrawn_advisories'] as const) {
    const rows = await inParts<Stored>(keys, (some) =>
      tx
        .selectFrom(table as 'advisories')
        .selectAll()
        .where('root', '=', root)
        .where('parent', '=', parent)
        .where('key', 'in', some)
        .execute(),
    )
    for (const row of rows) found.set(row.key, row)
  }
  return found
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/** Takes rows away and puts others in their places, with their postings and counts. */
async function replaceRows(
  db: Db,
  tx: Tx,
  before: readonly Stored[],
  after: readonly (AdvisoryRow | WithdrawnAdvisoryRow)[],
): Promise<void> {
  const live = after.filter((row): row is AdvisoryRow => !('deleted_ms' in row))
  const withdrawn = after.filter((row): row is WithdrawnAdvisoryRow => 'deleted_ms' in row)
  const wasLive = before.filter((row) => row.deleted_ms === undefined)
  const wasWithdrawn = before.filter((row) => row.deleted_ms !== undefined)
  const keyOf = ({ root, uid }: AdvisoryRow) => ({ root, uid })
  await deleteRows(db, tx, 'advisories', wasLive.map(keyOf))
  await deleteRows(db, tx, 'withdrawn_advisories', wasWithdrawn.map(keyOf))
  const lived = new Set(wasLive.map(({ uid }) => uid))
  const lives = new Set(live.map(({ uid }) => uid))
  for (const { uid } of wasLive) if (!lives.has(uid)) await countDeleted(db, tx, 'advisories', uid)
  await insertRows(db, tx, 'advisories', live)
  await insertRows(db, tx, 'withdrawn_advisories', withdrawn)
  const come = live.map(({ uid }) => uid).filter((uid) => !lived.has(uid))
  await countAllInserted(db, tx, 'advisories', come)
  const [one] = live
  if (one !== undefined && live.length > wasLive.length)
    await refuseBeyondLimit(db, tx, 'advisories', one.root)

  const old = postingsBy(wasLive)
  const fresh = postingsBy(live)
  await deleteRows(
    db,
    tx,
    'advisory_postings',
    [...old].filter(([key]) => !fresh.has(key)).map(([, posting]) => posting),
  )
  const added = [...fresh].filter(([key]) => !old.has(key)).map(([, posting]) => posting)
  await insertRows(db, tx, 'advisory_postings', added)
  await countPostings(db, tx, [...countedIn(wasLive, -1), ...countedIn(live, 1)])
  await recountParts(db, tx, wasLive, live)
  if (one !== undefined) await addSearchedTexts(db, tx, one.root, live.map(toAdvisory))
}

function countedIn(rows: readonly AdvisoryRow[], by: 1 | -1): CountedChange[] {
  return rows.flatMap((row) => {
    const values = countedValuesOf(toAdvisory(row), row.origin)
    return values.map((value) => ({ uid: row.uid, value, by }))
  })
}

function postingsBy(rows: readonly AdvisoryRow[]) {
  return new Map(
    rows.flatMap((row) => {
      const { root, uid, origin } = row
      const path = pathBelowRoot(uid)
      return postingsOf(toAdvisory(row), origin).map(
        (value) => [`${value.toString('hex')}${path}`, { root, value, path }] as const,
      )
    }),
  )
}

/** Marks advisories as deleted; returns how many were not. */
async function withdraw(db: Db, tx: Tx, parent: Uid, keys: readonly string[], now: number): Promise<number> {
  const known = await readRows(tx, parent, [...new Set(keys)])
  const live = [...known.values()].filter((row) => row.deleted_ms === undefined)
  const rows = live.map((row) => ({
    ...row,
    // What is said of it the next time is a change again.
    record_hash: new Uint8Array(0),
    updated_ms: Math.max(now, row.updated_ms + 1),
    deleted_ms: now,
  }))
  await replaceRows(db, tx, live, rows)
  return live.length
}

/** The records of a security database of which no other document of the group tells more. */
async function uncovered(
  db: Db,
  tx: Tx,
  parent: Uid,
  { format, advisories }: AdvisoryDocument,
): Promise<{ readonly records: readonly AdvisoryRecord[]; readonly covered: number }> {
  if (format !== 'secdb') return { records: advisories, covered: 0 }
  const names = [...new Set(advisories.map(({ artifactName }) => artifactName))]
  const known = await relatives(db, tx, parent, names)
  const told = new Set(known.filter(({ key }) => !isOfSecdb(key)).flatMap((row) => placesOf(row)))
  const records = advisories.filter(
    ({ artifactName, aliases }) => !aliases.some((alias) => told.has(`${artifactName} ${alias}`)),
  )
  return { records, covered: advisories.length - records.length }
}

/** The advisories of security databases of which these records tell more. */
async function coveredBy(db: Db, tx: Tx, parent: Uid, records: readonly AdvisoryRecord[]): Promise<string[]> {
  const one = await tx
    .selectFrom('advisory_documents')
    .select('id')
    .where('root', '=', rootOf(parent))
    .where('parent', '=', parent)
    .where('format', '=', 'secdb')
    .limit(1)
    .execute()
  if (one.length === 0) return []
  const told = new Set(
    records.flatMap(({ artifactName, origin, aliases }) =>
      aliases.flatMap((alias) => [`${artifactName} ${alias}`, `${origin} ${alias}`]),
    ),
  )
  const names = [...new Set(records.flatMap(({ artifactName, origin }) => [artifactName, origin]))]
  const known = await relatives(db, tx, parent, names)
  return known
    .filter((row) => isOfSecdb(row.key) && placesOf(row).some((place) => told.has(place)))
    .map(({ key }) => key)
}

function isOfSecdb(key: string): boolean {
  return key.startsWith('secdb:')
}

/** Where an advisory applies, as `package alias`. */
function placesOf(row: AdvisoryRow): string[] {
  const { aliases } = toAdvisory(row)
  return aliases.flatMap((alias) => [`${row.artifact_name} ${alias}`, `${row.origin} ${alias}`])
}

/** The advisories of packages and of what was built from them. */
function relatives(db: Db, tx: Tx, parent: Uid, names: readonly string[]): Promise<AdvisoryRow[]> {
  return inParts(names, (some) => {
    const sql = sqlText(db.engine)
    const keys = [facets.artifactName, facets.origin].flatMap((facet) =>
      some.map((name) => postingKey(facet, name).toString('hex')),
    )
    const posted = postedIn(sql, { keys }, { range: rangeBelow(parent) })
    const text = `select * from advisories where (root, uid) in (${posted}) and parent = ${sql.bind(parent)}`
    return runInTransaction<AdvisoryRow>(tx, text, sql)
  })
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
