import { giveTurn } from '../core/turns.ts'
import { pathBelowRoot, rootOf, type Uid } from '../core/uid.ts'
import { countAllInserted, countDeleted } from '../storage/counts.ts'
import type { Db, Tx } from '../storage/db.ts'
import { recountParts } from '../storage/part-counts.ts'
import { type CountedChange, countPostings } from '../storage/posting-counts.ts'
import { refuseBeyondLimit } from '../storage/rows.ts'
import { deleteRows, insertRows } from '../storage/rows-at-once.ts'
import type { Store } from '../storage/store.ts'
import type { AdvisoryRow, WithdrawnAdvisoryRow } from '../storage/tables.ts'
import type { AdvisoryRecord } from './advisory-record.ts'
import { countedValuesOf, postingsOf } from './facets.ts'
import { addSearchedTexts } from './searched-texts.ts'
import { recordHash, rowOf, toAdvisory } from './stored-advisory.ts'

/** The rows of advisories with all that finds and counts them, some hundreds at a time. */

export interface Changes {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
}

/** Rows that are written together, with all that finds them. */
const ROWS_AT_ONCE = 250

/** Makes advisories say what records say. */
export async function writeRecords(
  store: Pick<Store, 'db' | 'uids'>,
  tx: Tx,
  parent: Uid,
  records: readonly AdvisoryRecord[],
  now: number,
): Promise<Changes> {
  const changes = { created: 0, updated: 0, unchanged: 0 }
  for (let at = 0; at < records.length; at += ROWS_AT_ONCE) {
    const some = await writeSome(store, tx, parent, records.slice(at, at + ROWS_AT_ONCE), now)
    for (const name of ['created', 'updated', 'unchanged'] as const) changes[name] += some[name]
  }
  return changes
}

async function writeSome(
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
export type Stored = AdvisoryRow & { readonly deleted_ms?: number }

export async function readRows(
  tx: Tx,
  parent: Uid,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Stored>> {
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

export function equal(a: Uint8Array, b: Uint8Array): boolean {
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
export function withdraw(db: Db, tx: Tx, parent: Uid, keys: readonly string[], now: number): Promise<number> {
  return takeAway(db, tx, parent, keys, (row) => [
    {
      ...row,
      // What is said of it the next time is a change again.
      record_hash: new Uint8Array(0),
      updated_ms: Math.max(now, row.updated_ms + 1),
      deleted_ms: now,
    },
  ])
}

/** Takes advisories away as if they had never been; returns how many there were. */
export function removeRows(db: Db, tx: Tx, parent: Uid, keys: readonly string[]): Promise<number> {
  return takeAway(db, tx, parent, keys, () => [])
}

async function takeAway(
  db: Db,
  tx: Tx,
  parent: Uid,
  keys: readonly string[],
  left: (row: Stored) => WithdrawnAdvisoryRow[],
): Promise<number> {
  let taken = 0
  for (let at = 0; at < keys.length; at += ROWS_AT_ONCE) {
    const known = await readRows(tx, parent, keys.slice(at, at + ROWS_AT_ONCE))
    const live = [...known.values()].filter((row) => row.deleted_ms === undefined)
    await replaceRows(db, tx, live, live.flatMap(left))
    taken += live.length
  }
  return taken
}

const KEYS_AT_ONCE = 500

/** What some statements find together, each about so many keys. */
export async function inParts<T>(
  keys: readonly string[],
  read: (some: readonly string[]) => Promise<T[]>,
): Promise<T[]> {
  const found: T[] = []
  for (let at = 0; at < keys.length; at += KEYS_AT_ONCE) {
    await giveTurn()
    found.push(...(await read(keys.slice(at, at + KEYS_AT_ONCE))))
  }
  return found
}
