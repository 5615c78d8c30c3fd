import { isEcosystemOf } from '@berth/package-versions/osv/ecosystems.ts'
import { ROLLING_APK } from '../../advisories/packages/advisory-packages.ts'
import { coverageOf } from '../../advisories/packages/package-names.ts'
import { hasCweSql } from '../../advisories/vulnerability-filters.ts'
import { rootOf } from '../../api/uid.ts'
import { EVERY_PACKAGE } from '../../contents/storing/image-statements.ts'
import type { Db } from '../../storage/db.ts'
import type { ManifestContentsRow, PackageRow } from '../../storage/schema/tables.ts'
import { distinctText, runLongText, runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { toMatchedPackage } from '../matching/candidate.ts'
import { findingSeverities } from '../matching/match.ts'
import {
  catalogJoin,
  catalogLookUp,
  columnsWithStatements,
  type FindingRow,
  findingColumns,
  stateWithStatements,
} from '../services/finding-messages.ts'
import { EPSS_PARTS, isExploitedSql } from './catalog-facts.ts'

/** Reads the findings of images, by the packages that they contain. */

type Contents = Pick<ManifestContentsRow, 'id' | 'state' | 'reason' | 'problems'>

export interface ImageContentsIds {
  readonly state: string
  /** Why it could not be read; '' if that is not known, or if it is read. */
  readonly reason: string
  /** Number of parts that could not be read. */
  readonly problems: number
  /** `id` of the contents of the image, or of those of the images of an index. */
  readonly ids: readonly number[]
}

/** The contents of one image, read or not. */
export function toContentsIds({ id, state, reason, problems }: Contents): ImageContentsIds {
  return {
    state: state === 'backlog' ? 'pending' : state,
    reason,
    problems: Number(problems),
    ids: [Number(id)],
  }
}

/** Returns undefined if the repo has no such manifest. */
export async function readImageContents(
  db: Db,
  repo: string,
  digest: string,
): Promise<ImageContentsIds | undefined> {
  const [own] = await readContents(db, repo, (sql) => `m.digest = ${sql.bind(digest)}`)
  if (own === undefined) return undefined
  if (own.state !== 'none') return toContentsIds(own)
  const images = await readContents(
    db,
    repo,
    (sql) => `m.digest in (select r.digest from manifest_references r
      where r.root = ${sql.bind(rootOf(repo))} and r.repo = ${sql.bind(repo)} and r.manifest = ${sql.bind(digest)} and r.kind = 'manifest')`,
  )
  const known = images.filter(({ state }) => state !== 'none')
  const worst = ['failed', 'pending', 'read'].flatMap(
    (state) => known.find((image) => image.state === state) ?? [],
  )
  const [{ state = 'none', reason = '' } = {}] = worst
  return {
    state,
    reason,
    problems: known.reduce((sum, { problems }) => sum + Number(problems), 0),
    ids: known.map(({ id }) => Number(id)),
  }
}

/** The id of no contents. */
const NO_CONTENTS = -1

/** A manifest whose contents are not queued yet is pending. */
async function readContents(
  db: Db,
  repo: string,
  condition: (sql: SqlText) => string,
): Promise<readonly Contents[]> {
  const sql = sqlText(db.engine)
  const text = `select coalesce(c.id, ${NO_CONTENTS}) as id, case when c.state is null or c.state = 'backlog' then 'pending' else c.state end as state,
      coalesce(c.reason, '') as reason, coalesce(c.problems, 0) as problems
    from manifests m left join manifest_contents c on c.root = m.root and c.repo = m.repo and c.digest = m.digest
    where m.root = ${sql.bind(rootOf(repo))} and m.repo = ${sql.bind(repo)} and ${condition(sql)}`
  return runText<Contents>(db, text, sql)
}

export interface FindingFilters {
  readonly states?: readonly string[]
  readonly severities?: readonly string[]
  /** ID or alias. */
  readonly vulnerability?: string
  /** Only those that are known to be exploited. */
  readonly isExploited?: boolean
  /** Lowest probability of exploitation, from 0 to 1. */
  readonly minEpss?: number | undefined
  /** Lowest base score of CVSS. */
  readonly minScore?: number | undefined
  /** Kinds of weaknesses. */
  readonly cwes?: readonly string[]
}

/** What catalogs state, with a value where none lists the vulnerability. */
const EPSS = 'coalesce(x.epss, -1)'
const EXPLOITED = 'coalesce(x.exploited, 0)'

/** The orders of findings, with their keys. The last two keys are unique. */
const orders = {
  vulnerability: ['f.vulnerability', 'f.package'],
  severity: [
    `case f.severity ${findingSeverities.map((name, rank) => `when '${name}' then ${rank}`).join(' ')} end`,
    '0 - f.score',
    'f.vulnerability',
    'f.package',
  ],
  score: ['0 - f.score', 'f.vulnerability', 'f.package'],
  epss: [`0 - ${EPSS}`, 'f.vulnerability', 'f.package'],
  risk: [`0 - ${EXPLOITED}`, `0 - ${EPSS}`, '0 - f.score', 'f.vulnerability', 'f.package'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type FindingOrder = keyof typeof orders
export const findingOrders = Object.keys(orders) as readonly FindingOrder[]

/** The keys of the last finding of a page. */
export type FindingCursor = readonly (string | number)[]

export interface FindingPage {
  readonly order?: FindingOrder
  readonly after?: FindingCursor | undefined
  readonly size: number
}

/** Returns the cursor after a finding. */
export function cursorOf(row: FindingRow, order: FindingOrder): FindingCursor {
  const unique = [row.vulnerability, Number(row.package)]
  const score = -Number(row.score)
  const epss = -Number(row.epss ?? -1)
  switch (order) {
    case 'vulnerability':
      return unique
    case 'severity':
      return [(findingSeverities as readonly string[]).indexOf(row.severity), score, ...unique]
    case 'score':
      return [score, ...unique]
    case 'epss':
      return [epss, ...unique]
    case 'risk':
      return [row.exploitation ? -1 : 0, epss, score, ...unique]
  }
}

/** Reads findings in an order. An image of an index contains most packages of the others: each counts once. */
export async function readFindings(
  db: Db,
  root: string,
  ids: readonly number[],
  filters: FindingFilters,
  page: FindingPage,
): Promise<FindingRow[]> {
  if (ids.length === 0) return []
  return readFindingPage(db, root, await readFindingSource(db, root, ids), filters, page)
}

/** Reads a page: findings are sorted by their keys, and only those of the page are read with their package and catalogs. */
export function readFindingPage(
  db: Db,
  root: string,
  source: FindingSource,
  filters: FindingFilters,
  { order = 'vulnerability', after, size }: FindingPage,
): Promise<FindingRow[]> | FindingRow[] {
  const sql = sqlText(db.engine)
  const keys = orders[order].join(', ')
  const stated = source.hasStatements ? ', o.state, o.justification' : ''
  const from = fromSql(sql, root, source, filters, { catalogs: keys.includes('x.') })
  const rest = after === undefined ? '' : ` and (${keys}) > (${sql.bindAll(after)})`
  const text = `select ${source.columns}
    from (select f.package, f.vulnerability${stated} ${from}${rest} order by ${keys} limit ${sql.bind(size)}) as o
    ${sql.rules.lookUp('package_findings', 'f', `f.root = ${sql.bind(root)} and f.package = o.package and f.vulnerability = o.vulnerability`)}
    ${sql.rules.lookUp('packages', 'p', `p.root = ${sql.bind(root)} and p.id = o.package`)}
    ${catalogLookUp(sql, root)}
    order by ${keys}`
  return runText<FindingRow>(db, text, sql)
}

export interface FindingCountRow {
  readonly state: string
  readonly severity: string
  readonly n: number
}

/** Counts findings by state and severity. `long`: on SQLite in a reader thread, for work that no caller waits for. */
export async function countFindings(
  db: Db,
  root: string,
  ids: readonly number[],
  filters: FindingFilters,
  { long = false }: { readonly long?: boolean } = {},
): Promise<readonly FindingCountRow[]> {
  if (ids.length === 0) return []
  const source = await readFindingSource(db, root, ids)
  const sql = sqlText(db.engine)
  const from = fromSql(sql, root, source, filters)
  const { state } = source
  const text = `select ${state} as state, f.severity, count(*) as n ${from} group by ${state}, f.severity order by 1, 2`
  return toCounts(await (long ? runLongText : runText)<FindingCountRow>(db, text, sql))
}

export interface FindingTotals {
  /** All findings by state and severity. */
  readonly counts: readonly FindingCountRow[]
  /** Those that match the filters. */
  readonly matching: number
  /** Those that are known to be exploited, and not stated not to affect. */
  readonly exploited: number
}

/** Counts the findings of a list in one statement: all, those that match, and those that are exploited. */
export async function countFindingTotals(
  db: Db,
  root: string,
  source: FindingSource,
  filters: FindingFilters,
): Promise<FindingTotals> {
  const sql = sqlText(db.engine)
  const { state } = source
  const sum = (condition: string) => `sum(case when ${condition} then 1 else 0 end)`
  const exploited = isExploitedSql(sql, root)
  const matching = filterConditions(sql, root, source, filters)
  const text = `select ${state} as state, f.severity, count(*) as n, ${sum(exploited)} as exploited
      ${matching.length === 0 ? '' : `, ${sum(matching.join(' and '))} as matching`}
    ${fromSql(sql, root, source, {}, { catalogs: filters.minEpss !== undefined })} group by ${state}, f.severity order by 1, 2`
  type Row = FindingCountRow & { readonly exploited: number; readonly matching?: number }
  const rows = await runText<Row>(db, text, sql)
  const total = (of: readonly Row[], count: (row: Row) => number) =>
    of.reduce((sum, row) => sum + count(row), 0)
  return {
    counts: rows.map(({ state, severity, n }) => ({ state, severity, n: Number(n) })),
    matching: total(rows, ({ n, matching = n }) => Number(matching)),
    exploited: total(affecting(rows), ({ exploited }) => Number(exploited)),
  }
}

export function totalOf(counts: readonly FindingCountRow[]): bigint {
  return BigInt(counts.reduce((sum, { n }) => sum + n, 0))
}

/** Without those that an analysis states not to affect. */
export function affecting<R extends FindingCountRow>(counts: readonly R[]): readonly R[] {
  return counts.filter(({ state }) => state !== 'not-affected')
}

/** Images as the source of findings: their packages, and what is stated about them in these images. */
export interface FindingSource {
  /** A condition on the column `contents`. */
  readonly contents: (sql: SqlText) => string
  /** The distinct packages, as a query. */
  readonly packages: (sql: SqlText) => string
  /** Whether they are few: then their findings are looked up by them. */
  readonly hasFewPackages: boolean
  readonly hasStatements: boolean
  /** The columns of a finding. */
  readonly columns: string
  readonly state: string
}

export function findingSource(
  source: Pick<FindingSource, 'contents' | 'packages' | 'hasFewPackages' | 'hasStatements'>,
): FindingSource {
  return source.hasStatements
    ? { ...source, columns: columnsWithStatements, state: stateWithStatements }
    : { ...source, columns: findingColumns, state: 'f.state' }
}

/** Images by the ids of their contents. */
export async function readFindingSource(
  db: Db,
  root: string,
  ids: readonly number[],
): Promise<FindingSource> {
  const known = ids.length === 0 ? [NO_CONTENTS] : ids
  const contents = (sql: SqlText) => `in (${sql.bindAll(known)})`
  return findingSource({
    contents,
    packages: (sql) => packagesOf(sql, root, known),
    hasFewPackages: true,
    hasStatements: await hasStatements(db, root, contents),
  })
}

/** The distinct packages of images. */
export function packagesOf(sql: SqlText, root: string, ids: readonly number[]): string {
  const column = ids.length > 1 ? distinctText('package') : 'package'
  return `select ${column} from manifest_packages where root = ${sql.bind(root)} and contents in (${sql.bindAll(ids)})`
}

/** Whether documents that are attached to images state whether they are affected. */
export async function hasStatements(
  db: Db,
  root: string,
  contents: (sql: SqlText) => string,
): Promise<boolean> {
  const sql = sqlText(db.engine)
  const text = `select 1 as n from image_statements where root = ${sql.bind(root)} and contents ${contents(sql)} limit 1`
  return (await runText(db, text, sql)).length > 0
}

export function toCounts(rows: readonly FindingCountRow[]): readonly FindingCountRow[] {
  return rows.map((row) => ({ ...row, n: Number(row.n) }))
}

interface FromOptions {
  /** Joins what catalogs state, `x`, even if no filter uses it. */
  readonly catalogs?: boolean
}

/** The findings `f` of packages `i`, with what catalogs state, `x`, and what is stated in the images, `o`. */
export function fromSql(
  sql: SqlText,
  root: string,
  source: FindingSource,
  filters: FindingFilters,
  { catalogs = false }: FromOptions = {},
): string {
  const { hasFewPackages } = source
  const hasCatalogs = catalogs || filters.minEpss !== undefined
  const isOfPackage = (bound: string) => `f.root = ${bound} and f.package = i.package`
  const text = `from (${source.packages(sql)}) as i
      ${hasFewPackages ? sql.rules.lookUp('package_findings', 'f', isOfPackage(sql.bind(root))) : 'cross join package_findings as f'}
      ${hasCatalogs ? (hasFewPackages ? catalogLookUp(sql, root) : catalogJoin) : ''}
      ${source.hasStatements ? statementsJoin(sql, root, source) : ''}
      where ${hasFewPackages ? 'true' : isOfPackage(sql.bind(root))}`
  return [text, ...filterConditions(sql, root, source, filters)].join(' and ')
}

/** Conditions on a finding `f`, and on what catalogs state about it, `x`. */
function filterConditions(
  sql: SqlText,
  root: string,
  source: FindingSource,
  {
    states = [],
    severities = [],
    vulnerability = '',
    isExploited,
    minEpss,
    minScore,
    cwes = [],
  }: FindingFilters,
): string[] {
  const conditions: string[] = []
  if (states.length > 0) conditions.push(`${source.state} in (${sql.bindAll(states)})`)
  if (severities.length > 0) conditions.push(`f.severity in (${sql.bindAll(severities)})`)
  if (vulnerability !== '')
    conditions.push(
      `f.vulnerability in (select v.vulnerability from vulnerability_ids v where v.root = ${sql.bind(root)} and v.id = ${sql.bind(vulnerability)})`,
    )
  if (isExploited) conditions.push(isExploitedSql(sql, root))
  if (minEpss !== undefined) conditions.push(`x.epss >= ${sql.bind(Math.round(minEpss * EPSS_PARTS))}`)
  if (minScore !== undefined) conditions.push(`f.score >= ${sql.bind(Math.round(minScore * 10))}`)
  if (cwes.length > 0) conditions.push(hasCweSql(sql, 'f.cwes', cwes))
  return conditions
}

/**
 * What documents attached to the images state, as `o`. It applies if it is stated for every one of the images that contains the package.
 * If statements contradict each other, the package is affected.
 */
function statementsJoin(sql: SqlText, root: string, { contents }: FindingSource): string {
  return `left join (
      select l.package, v.vulnerability, min(s.state) as state, min(s.justification) as justification
      from image_statements as s cross join vulnerability_ids as v cross join manifest_packages as l
      where s.root = ${sql.bind(root)} and s.contents ${contents(sql)}
        and v.root = ${sql.bind(root)} and v.id = s.vulnerability
        and l.root = ${sql.bind(root)} and l.contents = s.contents and (s.package = ${EVERY_PACKAGE} or l.package = s.package)
      group by l.package, v.vulnerability
      having count(distinct s.contents) = (select count(*) from manifest_packages as a
        where a.root = ${sql.bind(root)} and a.package = l.package and a.contents ${contents(sql)})
    ) as o on o.package = f.package and o.vulnerability = f.vulnerability`
}

export interface Coverage {
  readonly ecosystem: string
  readonly packages: number
  readonly isCovered: boolean
}

type CountedPackages = Pick<PackageRow, 'type' | 'namespace' | 'distribution'> & { readonly n: number }

/** Returns the ecosystems of the packages of images. */
export async function readCoverage(
  db: Db,
  root: string,
  ids: readonly number[],
): Promise<readonly Coverage[]> {
  if (ids.length === 0) return []
  const sql = sqlText(db.engine)
  // The namespace decides only for packages of distributions.
  const namespace = `case when p.type in ('apk', 'deb', 'rpm') then p.namespace else '' end`
  const text = `select p.type, ${namespace} as namespace, p.distribution, count(*) as n
    from (${packagesOf(sql, root, ids)}) as i
    ${sql.rules.lookUp('packages', 'p', `p.root = ${sql.bind(root)} and p.id = i.package`)} group by p.type, ${namespace}, p.distribution`
  const rows = await runText<CountedPackages>(db, text, sql)
  const packages = rows.map((row) => ({
    n: Number(row.n),
    pkg: toMatchedPackage({ ...noPackage, ...row, root }),
  }))
  const bases = new Set(packages.map(({ pkg }) => coverageOf(pkg)))
  const names = new Map(
    await Promise.all(
      [...bases, ROLLING_APK].map(async (base) => [base, await ecosystemsOf(db, root, base)] as const),
    ),
  )
  const counted = new Map<string, { packages: number; isCovered: boolean }>()
  for (const { pkg, n } of packages) {
    const base = coverageOf(pkg)
    const release = pkg.distributionVersion === '' || base === pkg.type ? '' : `:${pkg.distributionVersion}`
    const isRolling =
      pkg.type === 'apk' &&
      ['Wolfi', 'Chainguard', 'apk'].includes(base) &&
      names.get(ROLLING_APK)?.length !== 0
    const isCovered = isRolling || names.get(base)?.some((name) => isEcosystemOf(name, pkg)) === true
    const known = counted.get(`${base}${release}`)
    counted.set(`${base}${release}`, {
      packages: (known?.packages ?? 0) + n,
      isCovered: isCovered && (known?.isCovered ?? true),
    })
  }
  return [...counted]
    .map(([ecosystem, rest]) => ({ ecosystem, ...rest }))
    .sort((a, b) => (a.ecosystem < b.ecosystem ? -1 : 1))
}

const noPackage: PackageRow = {
  ...{
    root: '',
    id: 0,
    key: '',
    type: '',
    namespace: '',
    name: '',
    version: '',
    origin_name: '',
    origin_version: '',
  },
  ...{ purl: '', architecture: '', license: '', distribution: '', matched_ms: 0 },
}

/** Returns the distinct ecosystems with a base of which an organization has advisories, such as `Debian` and `Debian:12`. */
async function ecosystemsOf(db: Db, root: string, base: string): Promise<string[]> {
  const sql = sqlText(db.engine)
  const from = 'select min(ecosystem) from advisory_packages where root = '
  // `;` is the character after `:`.
  const text = `with recursive found (name) as (
      ${from}${sql.bind(root)} and ecosystem >= ${sql.bind(base)} and ecosystem < ${sql.bind(`${base};`)}
      union all select (${from}${sql.bind(root)} and ecosystem > found.name and ecosystem < ${sql.bind(`${base};`)})
        from found where found.name is not null)
    select name from found where name is not null`
  const rows = await runText<{ readonly name: string }>(db, text, sql)
  return rows.map(({ name }) => name).filter((name) => name === base || name.startsWith(`${base}:`))
}

/** Whether a package of images is not matched yet. */
export async function readUnmatched(db: Db, root: string, ids: readonly number[]): Promise<boolean> {
  if (ids.length === 0) return false
  const sql = sqlText(db.engine)
  const text = `select 1 as n from packages as p where p.root = ${sql.bind(root)} and p.matched_ms = 0
    and exists (select 1 from manifest_packages as l where l.root = ${sql.bind(root)} and l.package = p.id and l.contents in (${sql.bindAll(ids)})) limit 1`
  return (await runText(db, text, sql)).length > 0
}

/** Returns when advisories of an organization last changed; 0: never. */
export async function readAdvisoriesTime(db: Db, root: string): Promise<number> {
  const sql = sqlText(db.engine)
  const text = `select coalesce(max(changed_ms), 0) as ms from advisory_groups where root = ${sql.bind(root)}`
  return Number((await runText<{ readonly ms: number }>(db, text, sql))[0]?.ms ?? 0)
}
