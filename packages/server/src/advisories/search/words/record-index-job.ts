import type { Uid } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import type { Tracer } from '../../../runtime/tracer.ts'
import { type Db, inTransaction } from '../../../storage/db.ts'
import type { JobKind, JobLease } from '../../../storage/jobs/job-leases.ts'
import type { JobScheduler } from '../../../storage/jobs/job-scheduler.ts'
import { startQueueJob } from '../../../storage/jobs/queue-job.ts'
import { runInTransaction, runLongText, runText, sqlText } from '../../../storage/sql-text.ts'
import { lockAdvisories } from '../../storage/advisory-groups.ts'
import { keysOfFacts } from './record-facts.ts'
import {
  buildSegment,
  gapsOf,
  type RecordToIndex,
  readFacts,
  readSegments,
  replaceSegments,
  type Segment,
} from './record-segments.ts'

/**
 * Adds records to the index of words, when an organization has many that are in no segment, and merges segments: a segment is written again
 * with at least as many other records, so that each record is written few times. One node works at a time. A step is one transaction.
 */

export const recordIndexJob: JobKind = { name: 'record-index' }

export interface RecordIndexJobOptions {
  readonly db: Db
  readonly clock: () => number
  readonly pollMs?: number | undefined
  /** Records of an organization without a segment above which they get one. */
  readonly unindexed?: number | undefined
  readonly leaseMs?: number | undefined
  readonly tracer?: Tracer | undefined
  readonly onRun: (outcome: 'succeeded' | 'failed', error?: unknown) => void
}

export function startRecordIndexJob(options: RecordIndexJobOptions): JobScheduler {
  const { db, clock, pollMs = limits.recordIndexPollMs, leaseMs, tracer, onRun } = options
  const { unindexed = limits.recordIndexMin } = options
  return startQueueJob({
    ...{ db, clock, pollMs, leaseMs, tracer, onRun },
    kind: recordIndexJob,
    span: 'job record-index',
    hasWork: async () => (await readRootToIndex(db, unindexed)) !== undefined,
    async run(lease) {
      for (;;) {
        const root = await readRootToIndex(db, unindexed)
        if (root === undefined) return
        await indexRecords(db, lease, root, clock)
      }
    },
  })
}

/** Returns an organization with more than `min` records that are in no segment. */
async function readRootToIndex(db: Db, min: number): Promise<string | undefined> {
  const sql = sqlText(db.engine)
  const text = `select root from vulnerability_records where segment <= 0 group by root having count(*) > ${sql.bind(min)} order by root limit 1`
  const [row] = await runText<{ readonly root: string }>(db, text, sql)
  return row?.root
}

async function indexRecords(db: Db, lease: JobLease, root: string, clock: () => number): Promise<void> {
  const sql = sqlText(db.engine)
  const text = `select parent, count(*) as n from vulnerability_records where root = ${sql.bind(root)} and segment <= 0 group by parent order by parent`
  const groups = await runText<{ readonly parent: string; readonly n: number }>(db, text, sql)
  for (const { parent, n } of groups) {
    // Records that change while they are indexed end an attempt: one with fewer is sooner done.
    let size: number = limits.recordSegmentRecordsMax
    for (let left = Number(n); left > 0; ) {
      lease.signal.throwIfAborted()
      const indexed = await indexSome(db, lease, { root, parent, clock, size: Math.min(size, left) })
      if (indexed === undefined) size = Math.max(1, Math.floor(size / 2))
      else if (indexed === 0) break
      else left -= indexed
    }
  }
}

interface Step {
  readonly root: string
  readonly parent: string
  readonly clock: () => number
  readonly size: number
}

/** Returns how many records got a segment; undefined if records changed meanwhile. */
async function indexSome(
  db: Db,
  lease: JobLease,
  { root, parent, clock, size }: Step,
): Promise<number | undefined> {
  const added = await readUnindexed(db, root, parent, size)
  if (added.length === 0) return 0
  const segments = (await readSegments(db, parent)).filter((segment) => segment.parent === parent)
  const merged = segmentsToMerge(segments, added.length)
  const records = [...added]
  for (const segment of merged) records.push(...(await readIndexed(db, root, segment)))
  const number = Math.max(clock(), ...segments.map(({ segment }) => segment + 1))
  const built = await buildSegment(root, parent, number, records)
  return inTransaction(db, async (tx) => {
    await lease.renew(tx)
    await lockAdvisories(tx, parent as Uid)
    const isCurrent = await haveSegments(db, tx, root, parent, records)
    if (!isCurrent) return undefined
    await replaceSegments(
      db,
      tx,
      built,
      merged.map(({ segment }) => segment),
    )
    for (const some of inBatches(records)) {
      const sql = sqlText(db.engine)
      const text = `update vulnerability_records set segment = ${sql.bind(number)}
        where root = ${sql.bind(root)} and parent = ${sql.bind(parent)} and key in (${sql.bindAll(some.map(({ key }) => key))})`
      await runInTransaction(tx, text, sql)
    }
    return added.length
  })
}

/** Those that have no more records than what is written with them, the smallest first. */
function segmentsToMerge(segments: readonly Segment[], added: number): readonly Segment[] {
  const merged: Segment[] = []
  let size = added
  const live = (segment: Segment) => segment.records - gapsOf(segment).size
  for (const segment of segments.toSorted((a, b) => live(a) - live(b))) {
    if (live(segment) > size || size + live(segment) > limits.recordSegmentRecordsMax) break
    merged.push(segment)
    size += live(segment)
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
  const gaps = gapsOf(segment)
  const records: RecordToIndex[] = []
  for (const some of inBatches(keys.filter((key) => !gaps.has(key)))) {
    const sql = sqlText(db.engine)
    const text = `select ${columns} from vulnerability_records
      where root = ${sql.bind(root)} and parent = ${sql.bind(segment.parent)} and key in (${sql.bindAll(some)}) and segment = ${sql.bind(segment.segment)}`
    records.push(...(await runLongText<RecordToIndex>(db, text, sql)))
  }
  return records
}

/** Whether records are in the segments in which they were read: those that were replaced meanwhile are not. */
async function haveSegments(
  db: Db,
  tx: Parameters<typeof runInTransaction>[0],
  root: string,
  parent: string,
  records: readonly RecordToIndex[],
): Promise<boolean> {
  for (const some of inBatches(records)) {
    const sql = sqlText(db.engine)
    const text = `select key, segment from vulnerability_records
      where root = ${sql.bind(root)} and parent = ${sql.bind(parent)} and key in (${sql.bindAll(some.map(({ key }) => key))})`
    const rows = await runInTransaction<Pick<RecordToIndex, 'key' | 'segment'>>(tx, text, sql)
    const segments = new Map(rows.map(({ key, segment }) => [key, Number(segment)]))
    if (some.some(({ key, segment }) => segments.get(key) !== Number(segment))) return false
  }
  return true
}

const BATCH = 500

function* inBatches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += BATCH) yield all.slice(at, at + BATCH)
}
