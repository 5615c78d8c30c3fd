import type { AdvisoryRecord } from '@berth/advisory-formats/advisory-record.ts'
import { pathBelowRoot, rootOf, type Uid } from '../../api/uid.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { deleteRows, insertRows } from '../../storage/bulk-rows.ts'
import { countAllInserted, countDeleted } from '../../storage/counts/row-counts.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { requireWithinTableLimit } from '../../storage/resource-rows.ts'
import type { AdvisoryRow, WithdrawnAdvisoryRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { updateAdvisoryPackages } from '../packages/advisory-packages.ts'
import { countedIndexKeysOf, indexKeysOf } from '../search/facets.ts'
import { addSearchableTexts } from '../search/suffix-index.ts'
import { updateTextCounts } from '../search/text-counts.ts'
import { updateValueCounts, type ValueCountChange } from '../search/value-counts.ts'
import { hashRecord, toAdvisory, toAdvisoryRow } from '../storage/stored-advisory.ts'

/** Writes the rows of advisories with their index entries and counts, some hundreds at a time. */

export interface ChangeCounts {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
}

/** Rows that are written together with their index entries. */
const ROW_BATCH_SIZE = 250

/** Writes records to their advisories. */
export async function writeRecords(
  store: Pick<Store, 'db' | 'uids'>,
  tx: Tx,
  parent: Uid,
  records: readonly AdvisoryRecord[],
  now: number,
): Promise<ChangeCounts> {
  const changes = { created: 0, updated: 0, unchanged: 0 }
  for (let at = 0; at < records.length; at += ROW_BATCH_SIZE) {
    const counts = await writeBatch(store, tx, parent, records.slice(at, at + ROW_BATCH_SIZE), now)
    for (const name of ['created', 'updated', 'unchanged'] as const) changes[name] += counts[name]
  }
  return changes
}

async function writeBatch(
  { db, uids }: Pick<Store, 'db' | 'uids'>,
  tx: Tx,
  parent: Uid,
  records: readonly AdvisoryRecord[],
  now: number,
): Promise<ChangeCounts> {
  const known = await readRows(
    tx,
    parent,
    records.map(({ key }) => key),
  )
  const writtenRows: (AdvisoryRow | WithdrawnAdvisoryRow)[] = []
  const replaced: StoredAdvisory[] = []
  let unchanged = 0
  for (const record of records) {
    const before = known.get(record.key)
    const hash = hashRecord(record)
    const isRestored = before?.deleted_ms !== undefined && record.withdrawnMs === undefined
    if (before !== undefined && !isRestored && equalBytes(hash, before.record_hash)) {
      unchanged++
      continue
    }
    if (before !== undefined) replaced.push(before)
    const row = toAdvisoryRow(before?.uid ?? uids.timeOrderedChild(parent, now), record, hash, {
      now,
      before,
    })
    writtenRows.push(record.withdrawnMs === undefined ? row : { ...row, deleted_ms: record.withdrawnMs })
  }
  await replaceRows(db, tx, replaced, writtenRows)
  return { created: writtenRows.length - replaced.length, updated: replaced.length, unchanged }
}

/** An existing advisory, withdrawn or not. */
export type StoredAdvisory = AdvisoryRow & { readonly deleted_ms?: number }

export async function readRows(
  tx: Tx,
  parent: Uid,
  keys: readonly string[],
): Promise<ReadonlyMap<string, StoredAdvisory>> {
  const root = rootOf(parent)
  const found = new Map<string, StoredAdvisory>()
  for (const table of ['advisories', 'withdrawn_advisories'] as const) {
    const rows = await readInBatches<StoredAdvisory>(keys, (some) =>
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

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/** Replaces rows, with their index entries and counts. */
async function replaceRows(
  db: Db,
  tx: Tx,
  before: readonly StoredAdvisory[],
  after: readonly (AdvisoryRow | WithdrawnAdvisoryRow)[],
): Promise<void> {
  const live = after.filter((row): row is AdvisoryRow => !('deleted_ms' in row))
  const withdrawn = after.filter((row): row is WithdrawnAdvisoryRow => 'deleted_ms' in row)
  const wasLive = before.filter((row) => row.deleted_ms === undefined)
  const wasWithdrawn = before.filter((row) => row.deleted_ms !== undefined)
  const keyOf = ({ root, uid }: AdvisoryRow) => ({ root, uid })
  await deleteRows(db, tx, 'advisories', wasLive.map(keyOf))
  await deleteRows(db, tx, 'withdrawn_advisories', wasWithdrawn.map(keyOf))
  const previousUids = new Set(wasLive.map(({ uid }) => uid))
  const currentUids = new Set(live.map(({ uid }) => uid))
  for (const { uid } of wasLive) if (!currentUids.has(uid)) await countDeleted(db, tx, 'advisories', uid)
  await insertRows(db, tx, 'advisories', live)
  await insertRows(db, tx, 'withdrawn_advisories', withdrawn)
  const addedUids = live.map(({ uid }) => uid).filter((uid) => !previousUids.has(uid))
  await countAllInserted(db, tx, 'advisories', addedUids)
  const [firstRow] = live
  if (firstRow !== undefined && live.length > wasLive.length)
    await requireWithinTableLimit(db, tx, 'advisories', firstRow.root)

  const previousEntries = indexEntriesOf(wasLive)
  const currentEntries = indexEntriesOf(live)
  await deleteRows(
    db,
    tx,
    'advisory_postings',
    [...previousEntries].filter(([key]) => !currentEntries.has(key)).map(([, posting]) => posting),
  )
  const addedEntries = [...currentEntries]
    .filter(([key]) => !previousEntries.has(key))
    .map(([, posting]) => posting)
  await insertRows(db, tx, 'advisory_postings', addedEntries)
  await updateValueCounts(db, tx, [...countChangesOf(wasLive, -1), ...countChangesOf(live, 1)])
  await updateTextCounts(db, tx, wasLive, live)
  await updateAdvisoryPackages(db, tx, wasLive, live)
  if (firstRow !== undefined) await addSearchableTexts(db, tx, firstRow.root, live.map(toAdvisory))
}

function countChangesOf(rows: readonly AdvisoryRow[], by: 1 | -1): ValueCountChange[] {
  return rows.flatMap((row) => {
    const values = countedIndexKeysOf(toAdvisory(row), row.origin)
    return values.map((value) => ({ uid: row.uid, value, by }))
  })
}

function indexEntriesOf(rows: readonly AdvisoryRow[]) {
  return new Map(
    rows.flatMap((row) => {
      const { root, uid, origin } = row
      const path = pathBelowRoot(uid)
      return indexKeysOf(toAdvisory(row), origin).map(
        (value) => [`${value.toString('hex')}${path}`, { root, value, path }] as const,
      )
    }),
  )
}

/** Marks advisories as withdrawn; returns how many were not withdrawn before. */
export function withdrawAdvisories(
  db: Db,
  tx: Tx,
  parent: Uid,
  keys: readonly string[],
  now: number,
): Promise<number> {
  return replaceLiveAdvisories(db, tx, parent, keys, (row) => [
    {
      ...row,
      // Any later record is a change again.
      record_hash: new Uint8Array(0),
      updated_ms: Math.max(now, row.updated_ms + 1),
      deleted_ms: now,
    },
  ])
}

/** Deletes advisories without a trace; returns how many there were. */
export function deleteAdvisories(db: Db, tx: Tx, parent: Uid, keys: readonly string[]): Promise<number> {
  return replaceLiveAdvisories(db, tx, parent, keys, () => [])
}

async function replaceLiveAdvisories(
  db: Db,
  tx: Tx,
  parent: Uid,
  keys: readonly string[],
  replacementsOf: (row: StoredAdvisory) => WithdrawnAdvisoryRow[],
): Promise<number> {
  let replacedCount = 0
  for (let at = 0; at < keys.length; at += ROW_BATCH_SIZE) {
    const known = await readRows(tx, parent, keys.slice(at, at + ROW_BATCH_SIZE))
    const live = [...known.values()].filter((row) => row.deleted_ms === undefined)
    await replaceRows(db, tx, live, live.flatMap(replacementsOf))
    replacedCount += live.length
  }
  return replacedCount
}

const KEY_BATCH_SIZE = 500

/** Runs a statement for batches of keys and returns all results. */
export async function readInBatches<T>(
  keys: readonly string[],
  read: (batch: readonly string[]) => Promise<T[]>,
): Promise<T[]> {
  const found: T[] = []
  for (let at = 0; at < keys.length; at += KEY_BATCH_SIZE) {
    await yieldToEventLoop()
    found.push(...(await read(keys.slice(at, at + KEY_BATCH_SIZE))))
  }
  return found
}
