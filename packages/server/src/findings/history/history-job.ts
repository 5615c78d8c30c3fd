import { limits } from '../../config/limits.ts'
import {
  type FindingHistoryKind,
  queueFindingHistory,
} from '../../registry/manifests/finding-history-changes.ts'
import { deleteRows } from '../../storage/bulk-rows.ts'
import { type Db, inTransaction } from '../../storage/db.ts'
import type { JobKind, JobLease } from '../../storage/jobs/job-leases.ts'
import type { JobScheduler } from '../../storage/jobs/job-scheduler.ts'
import { startQueueJob } from '../../storage/jobs/queue-job.ts'
import type { FindingHistoryChangeRow } from '../../storage/schema/tables.ts'
import { runLongText, runText, sqlText } from '../../storage/sql-text.ts'
import type { FindingJobOptions } from '../finding-job.ts'
import { recordTagFindings } from './tag-findings.ts'

/**
 * Continues the history of the findings of tags. Changed images and packages queue the tags that have them. Tags wait for a short
 * time, so that each is counted once for many changes. One node works at a time, beside the one that matches packages.
 */

export const findingHistoryJob: JobKind = { name: 'finding-history' }

export interface FindingHistoryJobOptions extends FindingJobOptions {
  /** From a change of a tag to its count. */
  readonly delayMs?: number | undefined
}

export function startFindingHistoryJob(options: FindingHistoryJobOptions): JobScheduler {
  const { db, clock, pollMs = limits.findingsPollMs, leaseMs, tracer, onRun } = options
  return startQueueJob({
    ...{ db, clock, pollMs, leaseMs, tracer, onRun },
    kind: findingHistoryJob,
    span: 'job finding-history',
    hasWork: () => hasWork(options),
    run: (lease) => runHistory(options, lease),
  })
}

const CHANGES_BATCH = 200

/** Reads the changes of a kind from before a time, the oldest first. */
function readChanges(db: Db, kind: FindingHistoryKind, untilMs: number, size = CHANGES_BATCH) {
  const sql = sqlText(db.engine)
  const text = `select * from finding_history_changes where kind = ${sql.bind(kind)} and changed_ms <= ${sql.bind(untilMs)}
    order by changed_ms, root, subject limit ${sql.bind(size)}`
  return runText<FindingHistoryChangeRow>(db, text, sql)
}

async function hasWork({ db, clock, delayMs = limits.findingHistoryDelayMs }: FindingHistoryJobOptions) {
  const nowMs = clock()
  for (const [kind, untilMs] of [
    ['image', nowMs],
    ['package', nowMs],
    ['tag', nowMs - delayMs],
  ] as const)
    if ((await readChanges(db, kind, untilMs, 1)).length > 0) return true
  return false
}

async function runHistory(options: FindingHistoryJobOptions, lease: JobLease): Promise<void> {
  const { db, clock, delayMs = limits.findingHistoryDelayMs } = options
  const startMs = clock()
  for (;;) {
    const images = await readChanges(db, 'image', startMs)
    const packages = await readChanges(db, 'package', startMs)
    for (const [root, its] of Map.groupBy(images, (row) => row.root))
      await queueTagsOfImages(db, lease, root, subjectsOf(its).map(Number), startMs)
    for (const [root, its] of Map.groupBy(packages, (row) => row.root))
      await queueTagsOfPackages(db, lease, root, subjectsOf(its).map(Number), startMs)
    const tags = await readChanges(db, 'tag', startMs - delayMs)
    const waiting = await recordTags(options, lease, tags)
    const done = [...images, ...packages, ...tags]
    if (done.length === 0) return
    await inTransaction(db, async (tx) => {
      await lease.renew(tx)
      // What changed again meanwhile has another revision and stays.
      await deleteRows(db, tx, 'finding_history_changes', done)
      // Later than the start: this run ends.
      for (const [root, its] of Map.groupBy(waiting, (row) => row.root))
        await queueFindingHistory(db, tx, root, 'tag', subjectsOf(its), startMs + 1)
    })
  }
}

const subjectsOf = (changes: readonly FindingHistoryChangeRow[]): string[] =>
  changes.map(({ subject }) => subject)

/** Records what tags have. Returns those whose packages are not matched yet. */
async function recordTags(
  { db, clock }: FindingHistoryJobOptions,
  lease: JobLease,
  changes: readonly FindingHistoryChangeRow[],
): Promise<FindingHistoryChangeRow[]> {
  const waiting: FindingHistoryChangeRow[] = []
  for (const change of changes) {
    lease.signal.throwIfAborted()
    const isKnown = await recordTagFindings({ db, clock, check: (tx) => lease.renew(tx) }, change.subject)
    if (!isKnown) waiting.push(change)
  }
  return waiting
}

const IMAGES_PAGE = 500

/** A package of a base image is in most images: they are read in pages. */
async function queueTagsOfPackages(
  db: Db,
  lease: JobLease,
  root: string,
  packages: readonly number[],
  changedMs: number,
): Promise<void> {
  if (packages.length === 0) return
  let after = 0
  for (;;) {
    lease.signal.throwIfAborted()
    const sql = sqlText(db.engine)
    const text = `select distinct contents from manifest_packages where root = ${sql.bind(root)} and package in (${sql.bindAll(packages)})
      and contents > ${sql.bind(after)} order by contents limit ${sql.bind(IMAGES_PAGE)}`
    const rows = await runLongText<{ readonly contents: number }>(db, text, sql)
    const ids = rows.map(({ contents }) => Number(contents))
    await queueTagsOfImages(db, lease, root, ids, changedMs)
    const last = ids.at(-1)
    if (last === undefined || ids.length < IMAGES_PAGE) return
    after = last
  }
}

/** Queues the tags of images and of indexes that contain them. */
async function queueTagsOfImages(
  db: Db,
  lease: JobLease,
  root: string,
  ids: readonly number[],
  changedMs: number,
): Promise<void> {
  if (ids.length === 0) return
  const sql = sqlText(db.engine)
  const ofImages = (joined: string, digest: string) =>
    `select t.uid from manifest_contents as c cross join ${joined}
      where c.root = ${sql.bind(root)} and c.id in (${sql.bindAll(ids)}) and t.root = ${sql.bind(root)} and t.parent = c.repo and t.digest = ${digest}`
  const text = `${ofImages('tags as t', 'c.digest')} union ${ofImages('manifest_references as r cross join tags as t', 'r.manifest')}
    and r.root = ${sql.bind(root)} and r.repo = c.repo and r.digest = c.digest and r.kind = 'manifest'`
  const rows = await runLongText<{ readonly uid: string }>(db, text, sql)
  if (rows.length === 0) return
  const tags = rows.map(({ uid }) => uid)
  await inTransaction(db, async (tx) => {
    await lease.renew(tx)
    await queueFindingHistory(db, tx, root, 'tag', tags, changedMs)
  })
}
