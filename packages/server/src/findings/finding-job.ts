import { advisoryPackagesOf, CATALOGS } from '../advisories/packages/advisory-packages.ts'
import { lockKnownAdvisories } from '../advisories/storage/advisory-groups.ts'
import { rootOf, type Uid } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { deleteRows, insertRows } from '../storage/bulk-rows.ts'
import { type Db, inTransaction } from '../storage/db.ts'
import { type JobKind, type JobLease, readJob } from '../storage/jobs/job-leases.ts'
import type { JobScheduler } from '../storage/jobs/job-scheduler.ts'
import { type QueueJobSettings, startQueueJob } from '../storage/jobs/queue-job.ts'
import type { AdvisoryRow, FindingChangeRow, PackageRow } from '../storage/schema/tables.ts'
import { runText, sqlText } from '../storage/sql-text.ts'
import { MATCHER_VERSION } from './matching/match.ts'
import { refreshCatalogFacts } from './storage/catalog-facts.ts'
import { deletePackageFindings, matchPackages } from './storage/match-packages.ts'

/**
 * Matches packages that are new, packages whose advisories changed, and after an upgrade those that an earlier version matched. The queues
 * are rows that the transactions of those changes write, so nothing is lost if a node ends, and a step that is repeated has the same result.
 * One node works at a time.
 */

export const findingsJob: JobKind = { name: 'findings' }

export function startFindingJob(options: QueueJobSettings): JobScheduler {
  const { db, clock, pollMs = limits.findingsPollMs, leaseMs, tracer, onRun } = options
  return startQueueJob({
    ...{ db, clock, pollMs, leaseMs, tracer, onRun },
    kind: findingsJob,
    span: 'job findings',
    hasWork: () => hasWork(db),
    run: (lease) => runFindings(options, lease),
  })
}

/**
 * Positions of the job. While advisories from before the index are added to it: empty, or `ROOT UID` of the last one. When all are in it:
 * `indexed` after an earlier version, `matching VERSION ROOT ID` with the last package that is matched again, and `matched VERSION`.
 */
const isIndexed = (position: string): boolean => /^(indexed$|match)/.test(position)
const MATCHING = `matching ${MATCHER_VERSION}`
export const MATCHED = `matched ${MATCHER_VERSION}`

async function hasWork(db: Db): Promise<boolean> {
  if (
    await holds(
      db,
      'exists (select 1 from packages where matched_ms = 0) or exists (select 1 from finding_changes)',
    )
  )
    return true
  const position = (await readJob(db, findingsJob))?.position ?? ''
  if (position === MATCHED) return false
  return isIndexed(position) || holds(db, 'exists (select 1 from advisories)')
}

async function holds(db: Db, condition: string): Promise<boolean> {
  return (await runText(db, `select 1 as n where ${condition}`, sqlText(db.engine))).length > 0
}

async function runFindings({ db, clock }: QueueJobSettings, lease: JobLease): Promise<void> {
  let position = isIndexed(lease.position) ? lease.position : await indexAdvisories(db, lease)
  for (;;) {
    lease.signal.throwIfAborted()
    const isNew = await matchNewPackages(db, clock, lease)
    const isChanged = await matchChangedAdvisories(db, clock, lease)
    if (!isNew && !isChanged && position === MATCHED) return
    // One batch: what is new does not wait for all.
    if (position !== MATCHED) position = await matchAgain(db, clock, lease, position)
  }
}

const PAGE = 500

/**
 * Adds advisories to the index that were imported before there was one. No package is matched before this is done. Returns the position
 * of the job.
 */
async function indexAdvisories(db: Db, lease: JobLease): Promise<string> {
  let [root = '', uid = ''] = lease.position.split(' ')
  for (;;) {
    lease.signal.throwIfAborted()
    const sql = sqlText(db.engine)
    const text = `select root, uid, parent from advisories where (root, uid) > (${sql.bind(root)}, ${sql.bind(uid)}) order by root, uid limit ${PAGE}`
    const page = await runText<Pick<AdvisoryRow, 'root' | 'uid' | 'parent'>>(db, text, sql)
    const last = page.at(-1)
    if (last === undefined) break
    for (const [parent, ofGroup] of Map.groupBy(page, (row) => row.parent))
      await inTransaction(db, async (tx) => {
        await lease.renew(tx)
        // An import may have deleted some since: the index must not have them.
        await lockKnownAdvisories(tx, parent as Uid)
        const rows = await tx
          .selectFrom('advisories')
          .selectAll()
          .where('root', '=', rootOf(parent))
          .where(
            'uid',
            'in',
            ofGroup.map((row) => row.uid),
          )
          .execute()
        await insertRows(db, tx, 'advisory_packages', rows.flatMap(advisoryPackagesOf), { ifAbsent: true })
      })
    root = last.root
    uid = last.uid
    await lease.savePosition(`${root} ${uid}`)
  }
  await lease.savePosition(MATCHED)
  return MATCHED
}

const PACKAGES_BATCH = 50

async function matchNewPackages(db: Db, clock: () => number, lease: JobLease): Promise<boolean> {
  const sql = sqlText(db.engine)
  const text = `select * from packages where matched_ms = 0 order by root, id limit ${PACKAGES_BATCH}`
  const rows = await runText<PackageRow>(db, text, sql)
  await matchByOrganization(db, clock, lease, rows)
  return rows.length > 0
}

async function matchByOrganization(
  db: Db,
  clock: () => number,
  lease: JobLease,
  rows: readonly PackageRow[],
): Promise<void> {
  for (const [root, its] of Map.groupBy(rows, (row) => row.root))
    await matchPackages({ db, clock, check: (tx) => lease.renew(tx) }, root, its)
}

/** Matches some packages that an earlier version may have matched. Returns the position of the job. */
async function matchAgain(db: Db, clock: () => number, lease: JobLease, position: string): Promise<string> {
  const [root = '', id = '0'] = position.startsWith(`${MATCHING} `) ? position.split(' ').slice(2) : []
  const sql = sqlText(db.engine)
  const text = `select * from packages where (root, id) > (${sql.bind(root)}, ${sql.bind(Number(id))}) and matched_ms > 0
    order by root, id limit ${PACKAGES_BATCH}`
  const rows = await runText<PackageRow>(db, text, sql)
  await matchByOrganization(db, clock, lease, rows)
  const last = rows.at(-1)
  const next = last === undefined ? MATCHED : `${MATCHING} ${last.root} ${last.id}`
  await lease.savePosition(next)
  return next
}

async function matchChangedAdvisories(db: Db, clock: () => number, lease: JobLease): Promise<boolean> {
  const sql = sqlText(db.engine)
  const text = `select * from finding_changes order by root, subject, parent limit ${PAGE}`
  const changes = await runText<FindingChangeRow>(db, text, sql)
  for (const [root, its] of Map.groupBy(changes, (row) => row.root)) {
    // Few rows: before the packages, which may be many.
    if (its.some(({ subject }) => subject === CATALOGS))
      await refreshCatalogFacts(db, root, (tx) => lease.renew(tx))
    const ids = await packagesOf(db, root, its)
    for (let at = 0; at < ids.length; at += PACKAGES_BATCH) {
      lease.signal.throwIfAborted()
      const some = ids.slice(at, at + PACKAGES_BATCH)
      const rows = await readPackages(db, root, some)
      await matchPackages({ db, clock, check: (tx) => lease.renew(tx) }, root, rows)
      const known = new Set(rows.map(({ id }) => Number(id)))
      await deletePackageFindings(
        db,
        root,
        some.filter((id) => !known.has(id)),
      )
    }
    await inTransaction(db, async (tx) => {
      await lease.renew(tx)
      // What changed again meanwhile has another revision and stays.
      await deleteRows(db, tx, 'finding_changes', its)
    })
  }
  return changes.length > 0
}

function readPackages(db: Db, root: string, ids: readonly number[]): Promise<PackageRow[]> | PackageRow[] {
  const sql = sqlText(db.engine)
  const text = `select * from packages where root = ${sql.bind(root)} and id in (${sql.bindAll(ids)})`
  return runText<PackageRow>(db, text, sql)
}

/** Returns the packages that changes are about. */
async function packagesOf(db: Db, root: string, changes: readonly FindingChangeRow[]): Promise<number[]> {
  const ids = new Set<number>()
  const subjects = (kind: string) =>
    [...new Set(changes.map(({ subject }) => subject))]
      .filter((subject) => subject.startsWith(`${kind} `))
      .map((subject) => subject.slice(kind.length + 1))
  const names = subjects('name')
  if (names.length > 0) {
    const sql = sqlText(db.engine)
    const text = `select package from package_names where root = ${sql.bind(root)} and name in (${sql.bindAll(names)})`
    for (const row of await runText<{ readonly package: number }>(db, text, sql)) ids.add(Number(row.package))
  }
  const scored = subjects('id')
  if (scored.length > 0) {
    const sql = sqlText(db.engine)
    const text = `select f.package from vulnerability_ids as v cross join package_findings as f
      where v.root = ${sql.bind(root)} and v.id in (${sql.bindAll(scored)}) and f.root = v.root and f.vulnerability = v.vulnerability`
    for (const row of await runText<{ readonly package: number }>(db, text, sql)) ids.add(Number(row.package))
  }
  return [...ids].sort((a, b) => a - b)
}
