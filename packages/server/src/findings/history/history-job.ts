import { limits } from '../../config/limits.ts'
import {
  type FindingHistoryKind,
  queueFindingHistory,
} from '../../registry/manifests/finding-history-changes.ts'
import { deleteRows } from '../../storage/bulk-rows.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import type { JobKind, JobLease } from '../../storage/jobs/job-leases.ts'
import type { JobScheduler } from '../../storage/jobs/job-scheduler.ts'
import { type QueueJobSettings, startQueueJob } from '../../storage/jobs/queue-job.ts'
import type { FindingHistoryChangeRow } from '../../storage/schema/tables.ts'
import { runLongText, runText, sqlText } from '../../storage/sql-text.ts'
import { recordScopeFindings, type ScopeKind, scopesOf } from './scope-findings.ts'
import { recordTagFindings } from './tag-findings.ts'

/**
 * Continues the history of the findings of tags. Changed images and packages queue the tags that have them, and tags their repo and its
 * groups. Each waits for a short time, so that it is counted once for many changes. One node works at a time, beside the one that matches
 * packages.
 */

export const findingHistoryJob: JobKind = { name: 'finding-history' }

export interface FindingHistoryJobOptions extends QueueJobSettings {
  /** From a change of a tag, repo or group to its count; each has its own by default. */
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
/** Repos, and groups, whose images are counted before the next changes are looked at. */
const SCOPES_BATCH = 10

/** Reads the changes of a kind from before a time, the oldest first. */
function readChanges(db: Db, kind: FindingHistoryKind, untilMs: number, size = CHANGES_BATCH) {
  const sql = sqlText(db.engine)
  const text = `select * from finding_history_changes where kind = ${sql.bind(kind)} and changed_ms <= ${sql.bind(untilMs)}
    order by changed_ms, root, subject limit ${sql.bind(size)}`
  return runText<FindingHistoryChangeRow>(db, text, sql)
}

const kinds = ['image', 'package', 'tag', 'repo', 'group'] as const satisfies readonly FindingHistoryKind[]
const scopeKinds = ['repo', 'group'] as const satisfies readonly ScopeKind[]

/** Changes of a kind from before the returned time are due. Counting a group reads all images in it: it waits longer. */
function dueUntilMs(nowMs: number, kind: FindingHistoryKind, delayMs: number | undefined): number {
  switch (kind) {
    case 'image':
    case 'package':
      return nowMs
    case 'tag':
    case 'repo':
      return nowMs - (delayMs ?? limits.findingHistoryDelayMs)
    case 'group':
      return nowMs - (delayMs ?? limits.findingHistoryGroupDelayMs)
  }
}

async function hasWork({ db, clock, delayMs }: FindingHistoryJobOptions) {
  const nowMs = clock()
  for (const kind of kinds)
    if ((await readChanges(db, kind, dueUntilMs(nowMs, kind, delayMs), 1)).length > 0) return true
  return false
}

async function runHistory(options: FindingHistoryJobOptions, lease: JobLease): Promise<void> {
  const { db, clock, delayMs } = options
  const startMs = clock()
  const readDue = (kind: FindingHistoryKind, size?: number) =>
    readChanges(db, kind, dueUntilMs(startMs, kind, delayMs), size)
  for (;;) {
    const images = await readDue('image')
    const packages = await readDue('package')
    const tagsOfImages = new Map<string, readonly string[]>()
    for (const [root, its] of Map.groupBy(images, (row) => row.root))
      tagsOfImages.set(root, await readTagsOfImages(db, root, subjectsOf(its).map(Number)))
    for (const [root, its] of Map.groupBy(packages, (row) => row.root))
      await queueTagsOfPackages(db, lease, root, subjectsOf(its).map(Number), startMs)
    const tags = await readDue('tag')
    const scopes: FindingHistoryChangeRow[] = []
    // Tags first: a repo is counted with the tags that are queued before it.
    if (tags.length === 0) for (const kind of scopeKinds) scopes.push(...(await readDue(kind, SCOPES_BATCH)))
    const waiting = await record(options, lease, [...tags, ...scopes])
    const done = [...images, ...packages, ...tags, ...scopes]
    if (done.length === 0) return
    const finishChanges = async (tx: Tx) => {
      await lease.renew(tx)
      // What changed again meanwhile has another revision and stays.
      await deleteRows(db, tx, 'finding_history_changes', done)
      // Always in the same order, so that transactions do not wait for each other in a circle.
      for (const [root, uids] of [...tagsOfImages].sort(([a], [b]) => (a < b ? -1 : 1)))
        await queueFindingHistory(db, tx, root, 'tag', uids, startMs)
      // Later than the start: this run ends.
      for (const { root, kind, subject } of waiting)
        await queueFindingHistory(db, tx, root, kind as FindingHistoryKind, [subject], startMs + 1)
      const recorded = tags.filter((tag) => !waiting.includes(tag))
      for (const [root, its] of Map.groupBy(recorded, (row) => row.root)) {
        const changed = scopesOf(subjectsOf(its))
        for (const kind of scopeKinds)
          await queueFindingHistory(db, tx, root, kind, changed[kind], startMs + 1)
      }
    }
    // May be lost: the results are durable already, and the changes are deleted only here, so that they are processed again.
    await inTransaction(db, finishChanges, { mayBeLost: true })
  }
}

const subjectsOf = (changes: readonly FindingHistoryChangeRow[]): string[] =>
  changes.map(({ subject }) => subject)

/** Records what tags, repos and groups have. Returns those whose packages are not matched yet. */
async function record(
  { db, clock }: FindingHistoryJobOptions,
  lease: JobLease,
  changes: readonly FindingHistoryChangeRow[],
): Promise<FindingHistoryChangeRow[]> {
  const waiting: FindingHistoryChangeRow[] = []
  for (const change of changes) {
    lease.signal.throwIfAborted()
    const options = { db, clock, check: (tx: Tx) => lease.renew(tx) }
    const { kind, subject } = change
    const isKnown =
      kind === 'tag'
        ? await recordTagFindings(options, subject)
        : await recordScopeFindings(options, kind as ScopeKind, subject)
    if (!isKnown) waiting.push(change)
  }
  return waiting
}

const IMAGES_PAGE = 500
const PACKAGES_BATCH = 50

/** A package of a base image is in most images: they are read in pages. */
async function queueTagsOfPackages(
  db: Db,
  lease: JobLease,
  root: string,
  packages: readonly number[],
  changedMs: number,
): Promise<void> {
  for (let at = 0; at < packages.length; at += PACKAGES_BATCH) {
    const some = packages.slice(at, at + PACKAGES_BATCH)
    for (let after = 0; ; ) {
      lease.signal.throwIfAborted()
      const ids = await readImagesWith(db, root, some, after)
      const tags = await readTagsOfImages(db, root, ids)
      if (tags.length > 0)
        await inTransaction(db, async (tx) => {
          await lease.renew(tx)
          await queueFindingHistory(db, tx, root, 'tag', tags, changedMs)
        })
      const last = ids.at(-1)
      if (last === undefined || ids.length < IMAGES_PAGE) break
      after = last
    }
  }
}

/**
 * Reads a page of the ids of images that contain one of the packages. Each package is looked up by itself: with a list of packages, a
 * database that takes them for frequent reads the packages of all images.
 */
async function readImagesWith(
  db: Db,
  root: string,
  packages: readonly number[],
  after: number,
): Promise<readonly number[]> {
  const sql = sqlText(db.engine)
  const ofEach = packages.map(
    (id) => `select * from (select contents from manifest_packages
      where root = ${sql.bind(root)} and package = ${sql.bind(id)} and contents > ${sql.bind(after)} order by contents limit ${IMAGES_PAGE}) as one`,
  )
  const text = `select distinct contents from (${ofEach.join(' union all ')}) as found order by contents limit ${IMAGES_PAGE}`
  const rows = await runLongText<{ readonly contents: number }>(db, text, sql)
  return rows.map(({ contents }) => Number(contents))
}

/** Reads the uids of the tags of images and of indexes that contain them. */
async function readTagsOfImages(db: Db, root: string, ids: readonly number[]): Promise<readonly string[]> {
  if (ids.length === 0) return []
  const sql = sqlText(db.engine)
  const ofImages = (joined: string, digest: string) =>
    `select t.uid from manifest_contents as c cross join ${joined}
      where c.root = ${sql.bind(root)} and c.id in (${sql.bindAll(ids)}) and t.root = ${sql.bind(root)} and t.parent = c.repo and t.digest = ${digest}`
  const text = `${ofImages('tags as t', 'c.digest')} union ${ofImages('manifest_references as r cross join tags as t', 'r.manifest')}
    and r.root = ${sql.bind(root)} and r.repo = c.repo and r.digest = c.digest and r.kind = 'manifest'`
  const rows = await runLongText<{ readonly uid: string }>(db, text, sql)
  return rows.map(({ uid }) => uid)
}
