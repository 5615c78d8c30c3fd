import { lookupNamesOf } from '../../advisories/packages/package-names.ts'
import { queueFindingHistory } from '../../registry/manifests/finding-history-changes.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { deleteRows, insertRows } from '../../storage/bulk-rows.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import type { PackageFindingRow, PackageRow, VulnerabilityIdRow } from '../../storage/schema/tables.ts'
import { runInTransaction, runText, sqlText } from '../../storage/sql-text.ts'
import { type Candidate, type MatchedPackage, toMatchedPackage } from '../matching/candidate.ts'
import { type Finding, matchPackage } from '../matching/match.ts'
import { idsOf } from '../vulnerability-ids.ts'
import { readCatalogFacts, writeCatalogFacts } from './catalog-facts.ts'
import { readCandidates, readScores } from './read-candidates.ts'

/** Matches stored packages with stored advisories, and replaces their findings. */

export interface MatchOptions {
  readonly db: Db
  readonly clock: () => number
  /** Called in the transaction that writes the findings; throws if they must not be written any more. */
  readonly check: (tx: Tx) => Promise<void>
}

/**
 * Matches packages of one organization. Their names are stored before advisories are read: an advisory that changes later finds the
 * packages, and one that changed before is read.
 */
export async function matchPackages(
  { db, clock, check }: MatchOptions,
  root: string,
  rows: readonly PackageRow[],
): Promise<void> {
  if (rows.length === 0) return
  const packages = rows.map((row) => ({ id: Number(row.id), pkg: toMatchedPackage(row) }))
  const names = packages.flatMap(({ id, pkg }) =>
    lookupNamesOf(pkg).map((name) => ({ root, name, package: id })),
  )
  await inTransaction(db, (tx) => insertRows(db, tx, 'package_names', names, { ifAbsent: true }))
  const candidates = await readCandidates(
    db,
    root,
    packages.map(({ pkg }) => pkg),
  )
  const scores = await readScores(db, root, candidates.values())
  const findings: PackageFindingRow[] = []
  for (const { id, pkg } of packages) {
    await yieldToEventLoop()
    const found = matchPackage(pkg, candidatesOf(pkg, candidates), scores)
    findings.push(...found.map((finding) => toRow(root, id, finding, clock())))
  }
  const ids = packages.map(({ id }) => id)
  const vulnerabilities = [...new Set(findings.map(({ vulnerability }) => vulnerability))]
  const added = await unknownAmong(db, root, vulnerabilities)
  const facts = await readCatalogFacts(db, root, added)
  const packagesMatchedBefore = rows.flatMap(({ id, matched_ms }) =>
    Number(matched_ms) === 0 ? [] : [Number(id)],
  )
  await inTransaction(db, async (tx) => {
    await check(tx)
    await lockPackages(db, tx, root, ids)
    const known = await tx
      .selectFrom('package_findings')
      .select(['package', 'vulnerability', 'found_ms', 'state', 'severity', 'aliases'])
      .where('root', '=', root)
      .where('package', 'in', ids)
      .execute()
    const foundMs = new Map(known.map((row) => [findingKey(row), Number(row.found_ms)]))
    await tx.deleteFrom('package_findings').where('root', '=', root).where('package', 'in', ids).execute()
    const rows = findings.map((row) => ({ ...row, found_ms: foundMs.get(findingKey(row)) ?? row.found_ms }))
    await insertRows(db, tx, 'package_findings', rows)
    await insertRows(db, tx, 'vulnerability_ids', idRowsOf(findings), { ifAbsent: true })
    await writeCatalogFacts(db, tx, root, added, facts)
    const changed = changedPackages(known, findings)
    // Images with new packages are queued when they are read.
    const matchedBefore = packagesMatchedBefore.filter((id) => changed.has(id))
    await queueFindingHistory(db, tx, root, 'package', matchedBefore, clock())
    await tx
      .updateTable('packages')
      .set({ matched_ms: clock() })
      .where('root', '=', root)
      .where('id', 'in', ids)
      .where('matched_ms', '=', 0)
      .execute()
  })
}

/** Returns the vulnerabilities that were found in no package before. */
async function unknownAmong(
  db: Db,
  root: string,
  vulnerabilities: readonly string[],
): Promise<readonly string[]> {
  if (vulnerabilities.length === 0) return []
  const sql = sqlText(db.engine)
  const text = `select id from vulnerability_ids where root = ${sql.bind(root)} and id in (${sql.bindAll(vulnerabilities)}) and vulnerability = id`
  const known = new Set((await runText<{ readonly id: string }>(db, text, sql)).map(({ id }) => id))
  return vulnerabilities.filter((id) => !known.has(id))
}

type CountedFinding = Pick<PackageFindingRow, 'package' | 'vulnerability' | 'state' | 'severity' | 'aliases'>

/** Returns the packages whose findings are counted differently; statements about an image apply by aliases too. */
function changedPackages(
  before: readonly CountedFinding[],
  after: readonly CountedFinding[],
): ReadonlySet<number> {
  const keyOf = (row: CountedFinding) => `${findingKey(row)} ${row.state} ${row.severity} ${row.aliases}`
  const [known, found] = [new Set(before.map(keyOf)), new Set(after.map(keyOf))]
  const changed = [
    ...before.filter((row) => !found.has(keyOf(row))),
    ...after.filter((row) => !known.has(keyOf(row))),
  ]
  return new Set(changed.map((row) => Number(row.package)))
}

/** Readers of images lock packages in this order. */
async function lockPackages(db: Db, tx: Tx, root: string, ids: readonly number[]): Promise<void> {
  if (db.rules.lockForUpdate === '') return
  const sql = sqlText(db.engine)
  const text = `select id from packages where root = ${sql.bind(root)} and id in (${sql.bindAll(ids)}) order by key${db.rules.lockForUpdate}`
  await runInTransaction(tx, text, sql)
}

function candidatesOf(
  pkg: MatchedPackage,
  byName: ReadonlyMap<string, readonly Candidate[]>,
): readonly Candidate[] {
  const found = lookupNamesOf(pkg).flatMap((name) => byName.get(name) ?? [])
  return [...new Map(found.map((candidate) => [candidate.uid, candidate])).values()]
}

const findingKey = (row: Pick<PackageFindingRow, 'package' | 'vulnerability'>): string =>
  `${row.package} ${row.vulnerability}`

function toRow(root: string, id: number, finding: Finding, foundMs: number): PackageFindingRow {
  return {
    root,
    package: id,
    vulnerability: finding.vulnerability,
    state: finding.state,
    severity: finding.severity,
    score: finding.score === undefined ? -1 : Math.round(finding.score * 10),
    fixed_version: finding.fixedVersion,
    justification: finding.justification,
    advisory: finding.advisory,
    aliases: finding.aliases.join(' '),
    cwes: finding.cwes.join(' '),
    found_ms: foundMs,
  }
}

function idRowsOf(findings: readonly PackageFindingRow[]): VulnerabilityIdRow[] {
  const rows = findings.flatMap((finding): VulnerabilityIdRow[] => {
    const { root, vulnerability } = finding
    return idsOf(finding).map((id) => ({ root, id, vulnerability }))
  })
  return [...new Map(rows.map((row) => [`${row.id} ${row.vulnerability}`, row])).values()]
}

/** Deletes what is stored about packages that do not exist any more. */
export async function deletePackageFindings(db: Db, root: string, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await inTransaction(db, async (tx) => {
    await tx
      .deleteFrom('package_findings')
      .where('root', '=', root)
      .where('package', 'in', [...ids])
      .execute()
    const names = await tx
      .selectFrom('package_names')
      .select(['root', 'name', 'package'])
      .where('root', '=', root)
      .where('package', 'in', [...ids])
      .execute()
    await deleteRows(db, tx, 'package_names', names)
  })
}
