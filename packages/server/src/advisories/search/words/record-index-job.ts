import { randomInt } from 'node:crypto'
import { rootOf } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import { insertRows } from '../../../storage/bulk-rows.ts'
import { type Db, inTransaction, type Tx } from '../../../storage/db.ts'
import type { JobKind, JobLease } from '../../../storage/jobs/job-leases.ts'
import type { JobScheduler } from '../../../storage/jobs/job-scheduler.ts'
import { type QueueJobSettings, startQueueJob } from '../../../storage/jobs/queue-job.ts'
import type { RecordIndexChangeRow } from '../../../storage/schema/tables.ts'
import { runInTransaction, runLongText, runText, sqlText } from '../../../storage/sql-text.ts'
import { keysOfFacts } from './record-facts.ts'
import {
  buildSegment,
  deleteSegments,
  hasMoreUnindexed,
  insertSegment,
  type RecordToIndex,
  readFacts,
  readGaps,
  readSegments,
  type Segment,
  segmentName,
} from './record-segments.ts'

/**
 * Adds records to the index of words, when a group has many that are in no segment, and merges segments: a segment is written again with at
 * least as many other records, or when many of its records were replaced, so that each record is written few times. One node works at a time. A
 * step is one transaction.
 */

export const recordIndexJob: JobKind = { name: 'record-index' }

export interface RecordIndexJobOptions extends QueueJobSettings {
  /** Records of a group without a segment above which they get one. */
  readonly min?: number | undefined
  readonly segmentRecords?: number | undefined
}

export function startRecordIndexJob(options: RecordIndexJobOptions): JobScheduler {
  const { db, clock, pollMs = limits.recordIndexPollMs, leaseMs, tracer, onRun } = options
  const { min = limits.recordIndexMin, segmentRecords = limits.recordSegmentRecordsMax } = options
  return startQueueJob({
    ...{ db, clock, pollMs, leaseMs, tracer, onRun },
    kind: recordIndexJob,
    span: 'job record-index',
    hasWork: async () => (await readChanges(db, 1)).length > 0,
    async run(lease) {
      // Groups that change meanwhile stay for the next run: the others must not wait for them.
      for (const change of await readChanges(db, GROUPS_PER_RUN))
        await indexGroup({ db, lease, min, segmentRecords }, change)
    },
  })
}

const GROUPS_PER_RUN = 1000

function readChanges(db: Db, max: number): Promise<RecordIndexChangeRow[]> | RecordIndexChangeRow[] {
  const sql = sqlText(db.engine)
  const text = `select root, parent, revision from record_index_changes order by root, parent limit ${sql.bind(max)}`
  return runText<RecordIndexChangeRow>(db, text, sql)
}

interface Indexing {
  readonly db: Db
  readonly lease: JobLease
  readonly min: number
  readonly segmentRecords: number
}

async function indexGroup(
  indexing: Indexing,
  { root, parent, revision }: RecordIndexChangeRow,
): Promise<void> {
  const { db, lease } = indexing
  for (;;) {
    lease.signal.throwIfAborted()
    const step = await readStep(indexing, parent)
    if (step === undefined) break
    await runStep(indexing, parent, step)
  }
  await inTransaction(db, async (tx) => {
    await lease.renew(tx)
    await tx
      .deleteFrom('record_index_changes')
      .where('root', '=', root)
      .where('parent', '=', parent)
      .where('revision', '=', revision)
      .execute()
  })
}

/** What one segment is built of. */
interface Step {
  readonly added: readonly RecordToIndex[]
  readonly merged: readonly Segment[]
}

async function readStep({ db, min, segmentRecords }: Indexing, parent: string): Promise<Step | undefined> {
  const root = rootOf(parent)
  const segments = await readLiveSegments(db, root, parent)
  if (await hasMoreUnindexed(db, root, (sql) => `parent = ${sql.bind(parent)}`, min)) {
    const added = await readUnindexed(db, root, parent, segmentRecords)
    if (added.length > 0) return { added, merged: segmentsToMerge(segments, added.length, segmentRecords) }
  }
  const worn = segments.find(isWorn)
  if (worn === undefined) return undefined
  const others = segments.filter((segment) => segment !== worn)
  return { added: [], merged: [worn, ...segmentsToMerge(others, worn.live, segmentRecords)] }
}

async function runStep({ db, lease }: Indexing, parent: string, { added, merged }: Step): Promise<void> {
  const root = rootOf(parent)
  const records = [...added]
  for (const segment of merged) records.push(...(await readIndexed(db, root, segment)))
  // Never that of another segment, also not of one that was deleted.
  const segment = randomInt(1, SEGMENT_MAX)
  const built = await buildSegment(root, parent, segment, records)
  await inTransaction(db, async (tx) => {
    await lease.renew(tx)
    if (!(await lockGroup(tx, root, parent))) return
    const changed = await readChangedKeys(db, tx, root, parent, records)
    await deleteSegments(
      tx,
      root,
      parent,
      merged.map((one) => one.segment),
    )
    if (changed.size === records.length) return
    await insertSegment(db, tx, built)
    // They were replaced or deleted while the segment was built.
    const gaps = [...changed].map((key) => ({ root, parent, segment, key }))
    await insertRows(db, tx, 'record_gaps', gaps)
    for (const some of inBatches(records.filter(({ key }) => !changed.has(key)))) {
      const sql = sqlText(db.engine)
      const text = `update vulnerability_records set segment = ${sql.bind(segment)}
        where root = ${sql.bind(root)} and parent = ${sql.bind(parent)} and key in (${sql.bindAll(some.map(({ key }) => key))})`
      await runInTransaction(tx, text, sql)
    }
  })
}

const SEGMENT_MAX = 2 ** 47

/** Locks the group against imports until the transaction ends. Returns false if the group was deleted. */
async function lockGroup(tx: Tx, root: string, group: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('advisory_groups')
    .set({ uid: group })
    .where('root', '=', root)
    .where('uid', '=', group)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

interface LiveSegment extends Segment {
  /** Its records without those that were replaced or deleted. */
  readonly live: number
}

/** Returns the segments of a group itself. */
async function readLiveSegments(db: Db, root: string, parent: string): Promise<readonly LiveSegment[]> {
  const segments = (await readSegments(db, parent)).filter((segment) => segment.parent === parent)
  const sql = sqlText(db.engine)
  const text = `select segment, count(*) as n from record_gaps
    where root = ${sql.bind(root)} and parent = ${sql.bind(parent)} group by segment`
  const rows = await runText<{ readonly segment: number; readonly n: number }>(db, text, sql)
  const gaps = new Map(rows.map(({ segment, n }) => [Number(segment), Number(n)]))
  return segments.map((segment) => ({ ...segment, live: segment.records - (gaps.get(segment.segment) ?? 0) }))
}

const WORN_SHARE = 8

/** Whether so many records of a segment were replaced or deleted that it is written again. */
function isWorn({ records, live }: LiveSegment): boolean {
  return (records - live) * WORN_SHARE > records
}

/** Those that have no more records than what is written with them, the smallest first. */
function segmentsToMerge(
  segments: readonly LiveSegment[],
  added: number,
  max: number,
): readonly LiveSegment[] {
  const merged: LiveSegment[] = []
  let size = added
  for (const segment of segments.toSorted((a, b) => a.live - b.live)) {
    if (segment.live > size || size + segment.live > max) break
    merged.push(segment)
    size += segment.live
  }
  return merged
}

const columns = 'parent, key, id, modified_ms, score, severity, cwes, search, segment'

function readUnindexed(db: Db, root: string, parent: string, size: number): Promise<RecordToIndex[]> {
  const sql = sqlText(db.engine)
  const text = `select ${columns} from vulnerability_records
    where root = ${sql.bind(root)} and parent = ${sql.bind(parent)} and segment <= 0 limit ${sql.bind(size)}`
  return runLongText<RecordToIndex>(db, text, sql)
}

async function readIndexed(db: Db, root: string, segment: Segment): Promise<RecordToIndex[]> {
  const [facts] = await readFacts(db, root, [segment], { hasTexts: false })
  const keys = facts === undefined ? [] : keysOfFacts(facts.postings)
  const gaps = (await readGaps(db, root, [segment])).get(segmentName(segment))
  const records: RecordToIndex[] = []
  for (const some of inBatches(keys.filter((key) => gaps?.has(key) !== true))) {
    const sql = sqlText(db.engine)
    const text = `select ${columns} from vulnerability_records
      where root = ${sql.bind(root)} and parent = ${sql.bind(segment.parent)} and key in (${sql.bindAll(some)}) and segment = ${sql.bind(segment.segment)}`
    records.push(...(await runLongText<RecordToIndex>(db, text, sql)))
  }
  return records
}

/** Returns the keys of records that were replaced or deleted since they were read. */
async function readChangedKeys(
  db: Db,
  tx: Tx,
  root: string,
  parent: string,
  records: readonly RecordToIndex[],
): Promise<ReadonlySet<string>> {
  const changed = new Set<string>()
  for (const some of inBatches(records)) {
    const sql = sqlText(db.engine)
    // Nodes of the previous release give all records segment 0: texts show whether they were replaced.
    const text = `select key, segment, case when segment = 0 then search else '' end as search from vulnerability_records
      where root = ${sql.bind(root)} and parent = ${sql.bind(parent)} and key in (${sql.bindAll(some.map(({ key }) => key))})`
    const rows = await runInTransaction<Pick<RecordToIndex, 'key' | 'segment' | 'search'>>(tx, text, sql)
    const current = new Map(rows.map((row) => [row.key, row]))
    for (const { key, segment, search } of some) {
      const row = current.get(key)
      const isSame = Number(row?.segment ?? -1) === Number(segment)
      if (row === undefined || !isSame || (Number(segment) === 0 && row.search !== search)) changed.add(key)
    }
  }
  return changed
}

const BATCH = 500

function* inBatches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += BATCH) yield all.slice(at, at + BATCH)
}
