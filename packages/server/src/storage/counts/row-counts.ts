import { sql } from 'kysely'
import { rootOf, type UidRange } from '../../api/uid.ts'
import { upsertRows } from '../bulk-rows.ts'
import type { Db, Tx } from '../db.ts'
import { andIn, type NamedRoots } from '../list/named-roots.ts'
import { prepared } from '../prepared.ts'
import { type CountRow, type ListedTable, type ResourceTable, resourceTables } from '../schema/tables.ts'
import { runInTransaction, runText, type SqlText, sqlText } from '../sql-text.ts'

/**
 * Row counts of tables, by bucket (ADR 2). The uids of one organization, in byte order, are divided into buckets, and `counts` stores the
 * number of rows of each, from its start to the start of the next one. The count of a range is the sum of the whole buckets in it and a scan
 * of the two at its ends; the row at an offset is found the same way. Both cost the same for every shape of the tree. Counters change in the
 * transaction of the row, so they are exact, and writers of one organization wait for each other only in the same bucket.
 */

/** Returns whether the rows of a table are counted. */
export function isCounted(table: ListedTable): table is ResourceTable {
  return (resourceTables as readonly string[]).includes(table)
}

/** Counts a row that `tx` has just inserted. */
export function countInserted(db: Db, tx: Tx, table: ResourceTable, uid: string): Promise<void> {
  return countAllInserted(db, tx, table, [uid])
}

/** Counts rows of one organization that `tx` has just inserted; updates each bucket once. */
export async function countAllInserted(
  db: Db,
  tx: Tx,
  table: ResourceTable,
  uids: readonly string[],
): Promise<void> {
  const sorted = uids.toSorted()
  for (let at = 0; at < sorted.length; ) {
    const bucket = await bucketFor(db, tx, table, sorted[at] as string)
    const next = at + 1 < sorted.length ? await startAfter(db, tx, table, bucket.start) : undefined
    const beyond = next === undefined ? -1 : sorted.findIndex((uid, index) => index > at && uid >= next)
    const end = beyond < 0 ? sorted.length : beyond
    await setBucketCount(db, tx, table, bucket, bucket.n + end - at)
    at = end
  }
}

/** Counts rows that `tx` has just inserted, each of which belongs to no organization, so that it has a bucket of its own. */
export async function countInsertedRoots(
  db: Db,
  tx: Tx,
  table: ResourceTable,
  uids: readonly string[],
): Promise<void> {
  const rows = uids.map((uid) => ({ root: uid, collection: table, start: uid, n: 1 }))
  await upsertRows(db, tx, 'counts', rows, { key: ['root', 'collection', 'start'], values: ['n'] })
}

/** Locks the bucket of a new row and returns it. */
async function bucketFor(db: Db, tx: Tx, table: ResourceTable, uid: string): Promise<Bucket> {
  const root = rootOf(uid)
  let bucket = await lockBucket(db, tx, table, uid)
  if (bucket === undefined) {
    // The organization's first row of this kind. On PostgreSQL two transactions can insert one: the first creates the bucket for both.
    await tx
      .insertInto('counts')
      .values({ root, collection: table, start: root, n: 0 })
      .onConflict((conflict) => conflict.columns(['root', 'collection', 'start']).doNothing())
      .execute()
    bucket = await lockBucket(db, tx, table, uid)
    if (bucket === undefined) throw new Error(`${table} has no counter for ${uid}`)
  }
  return bucket
}

/** Returns the start of the next bucket of an organization; undefined after the last. No other transaction divides a locked bucket. */
async function startAfter(db: Db, tx: Tx, table: ResourceTable, start: string): Promise<string | undefined> {
  const sql = sqlText(db.engine)
  const text = `select start from counts where root = ${sql.bind(rootOf(start))} and collection = ${sql.bind(table)}
    and start > ${sql.bind(start)} order by start limit 1`
  const [next] = await runInTransaction<Pick<Bucket, 'start'>>(tx, text, sql)
  return next?.start
}

/** Sets the count of a bucket to `n`, and divides the bucket if that is too many. */
async function setBucketCount(
  db: Db,
  tx: Tx,
  table: ResourceTable,
  { start }: Bucket,
  n: number,
): Promise<void> {
  const root = rootOf(start)
  const pieces = n > db.sizes.bucketRowsMax ? Math.ceil((2 * n) / (db.sizes.bucketRowsMax + 1)) : 1
  const sizeUpTo = (piece: number) => Math.floor((n * piece) / pieces)
  await setCount(tx, { root, collection: table, start, n: sizeUpTo(1) })
  for (let piece = 1; piece < pieces; piece++) {
    const first = await rowAt(tx, table, start, sizeUpTo(piece))
    await tx
      .insertInto('counts')
      .values({ root, collection: table, start: first, n: sizeUpTo(piece + 1) - sizeUpTo(piece) })
      .execute()
  }
}

/**
 * Counts a row that `tx` has just deleted; call it before counting insertions. Empty buckets stay and are used for the next uid in their range.
 */
export async function countDeleted(db: Db, tx: Tx, table: ResourceTable, uid: string): Promise<void> {
  const bucket = await lockBucket(db, tx, table, uid)
  if (bucket === undefined) throw new Error(`${table} has no counter for ${uid}`)
  await setCount(tx, { root: rootOf(uid), collection: table, start: bucket.start, n: bucket.n - 1 })
}

interface Bucket {
  readonly start: string
  readonly n: number
}

/**
 * Locks the bucket of `uid` and returns it. On PostgreSQL another transaction can divide the bucket while this one waits for the lock, so
 * it reads again until the bucket is the locked one.
 */
async function lockBucket(db: Db, tx: Tx, table: ResourceTable, uid: string): Promise<Bucket | undefined> {
  let lockedStart: string | undefined
  for (;;) {
    const sql = sqlText(db.engine)
    const text = `select start, n from counts where root = ${sql.bind(rootOf(uid))} and collection = ${sql.bind(table)}
      and start <= ${sql.bind(uid)} order by start desc limit 1${db.rules.lockForUpdate}`
    const [bucket] = await runInTransaction<Bucket>(tx, text, sql)
    if (bucket === undefined || bucket.start === lockedStart || db.rules.lockForUpdate === '') return bucket
    lockedStart = bucket.start
  }
}

/**
 * Prevents other transactions that call it from counting rows of this kind in this organization until this one ends. Before the first row
 * there is nothing to lock: the second transaction then waits in countInserted.
 */
export async function lockCount(db: Db, tx: Tx, table: ResourceTable, root: string): Promise<void> {
  await lockBucket(db, tx, table, root)
}

const setCount = prepared((db, { root, collection, start, n }: CountRow) =>
  db
    .updateTable('counts')
    .set({ n })
    .where('root', '=', root)
    .where('collection', '=', collection)
    .where('start', '=', start),
)

async function rowAt(tx: Tx, table: ResourceTable, start: string, offset: number): Promise<string> {
  const { rows } = await sql<{ uid: string }>`
    select uid from ${sql.table(table)} where root = ${rootOf(start)} and uid >= ${start}
    order by uid limit 1 offset ${offset}`.execute(tx)
  const found = rows[0]?.uid
  if (found === undefined) throw new Error(`the counters of ${table} do not agree with its rows`)
  return found
}

/**
 * Returns SQL for the number of rows of a table in a range of uids: of one organization, or of the whole platform if the range starts at ''.
 */
export function rangeCountSql(sql: SqlText, table: ResourceTable, { from, to }: UidRange): string {
  if (from === '') return rootsCountSql(sql, table, undefined)
  const root = rootOf(from)
  const floor = (uid: string) =>
    `(select max(start) from counts where root = ${sql.bind(root)} and collection = ${sql.bind(table)} and start <= ${sql.bind(uid)})`
  const rest = (end: string) =>
    `(select count(*) from ${table} where root = ${sql.bind(root)} and uid >= ${floor(end)} and uid < ${sql.bind(end)})`
  const ofRoot = `select coalesce(sum(n), 0) from counts where root = ${sql.bind(root)} and collection = ${sql.bind(table)}`
  // The first bucket of an organization starts with it.
  const whole = from === root ? ofRoot : `${ofRoot} and start >= ${floor(from)}`
  // A range that ends with the organization needs no scan at its end, one that starts with it none at its start.
  const upper = to === `${root}0` ? `(${whole})` : `(${whole} and start < ${floor(to)})`
  const lower = from === root ? '' : ` - ${rest(from)}`
  return upper + lower + (to === `${root}0` ? '' : ` + ${rest(to)}`)
}

/** Returns SQL for the number of rows of a table in some organizations; undefined: in all. */
export function rootsCountSql(sql: SqlText, table: ResourceTable, roots: NamedRoots): string {
  return `(select coalesce(sum(n), 0) from counts where collection = ${sql.bind(table)}${andIn(sql, 'root', roots)})`
}

async function countRange(db: Db, table: ResourceTable, range: UidRange): Promise<number> {
  const text = sqlText(db.engine)
  const rows = await runText<{ n: number }>(db, `select ${rangeCountSql(text, table, range)} as n`, text)
  return Number(rows[0]?.n ?? 0)
}

/** The start of a deep skip: the uid from which `remaining` rows of the range are left to skip. */
export interface SkipStart {
  readonly from: string
  readonly remaining: number
}

/**
 * Skips `skip` rows of a range in uid order by whole buckets; all rows if there are not more. `descending` skips from the end; `from` is then
 * the exclusive upper bound of the rest.
 */
export async function skipByBuckets(
  db: Db,
  table: ResourceTable,
  range: UidRange,
  skip: number,
  descending: boolean,
): Promise<SkipStart> {
  const sql = sqlText(db.engine)
  const platform = range.from === ''
  const where = platform
    ? `collection = ${sql.bind(table)}`
    : `root = ${sql.bind(rootOf(range.from))} and collection = ${sql.bind(table)} and start > ${sql.bind(range.from)} and start < ${sql.bind(range.to)}`
  const buckets = await runText<Bucket>(
    db,
    `select start, n from counts where ${where} order by root, start`,
    sql,
  )

  // Segments of the range between bucket starts. The first and the last can be parts of buckets, which a scan counts.
  const segments = platform ? [] : [{ start: range.from, n: undefined as number | undefined }]
  for (const { start, n } of buckets) segments.push({ start, n: Number(n) })
  const last = segments.at(-1)
  if (last !== undefined && !platform) last.n = undefined
  const endOf = (at: number) => segments[at + 1]?.start ?? range.to
  const sizeOf = async (at: number) => {
    const { start, n } = segments[at] as (typeof segments)[number]
    return n ?? (await countRange(db, table, { from: start, to: endOf(at) }))
  }

  let remaining = skip
  const order = segments.map((_, at) => (descending ? segments.length - 1 - at : at))
  for (const at of order) {
    const size = await sizeOf(at)
    if (size > remaining)
      return { from: descending ? endOf(at) : (segments[at]?.start ?? range.from), remaining }
    remaining -= size
  }
  // Rows were deleted between counting and skipping: nothing is left.
  return { from: descending ? range.from : range.to, remaining: 0 }
}

/** Recounts a table whose rows were loaded without this module. Nothing else may write meanwhile. */
export async function recount(db: Db, table: ResourceTable): Promise<void> {
  const tableRef = sql.table(table)
  await db.kysely.deleteFrom('counts').where('collection', '=', table).execute()
  // Each bucket starts half full; the first row of an organization starts its first bucket.
  const size = Math.ceil(db.sizes.bucketRowsMax / 2)
  await sql`
    insert into counts (root, collection, start, n)
    select root, ${table}, case when min(at) = 1 then root else min(uid) end, count(*)
    from (select root, uid, row_number() over (partition by root order by uid) as at from ${tableRef}) as numbered
    group by root, (at - 1) / ${sql.lit(size)}`.execute(db.kysely)
}
