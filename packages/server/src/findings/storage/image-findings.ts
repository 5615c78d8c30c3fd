import { isEcosystemOf } from '@berth/package-versions/osv/ecosystems.ts'
import { ROLLING_APK } from '../../advisories/packages/advisory-packages.ts'
import { coverageOf } from '../../advisories/packages/package-names.ts'
import { rootOf } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import type { ManifestContentsRow, PackageRow } from '../../storage/schema/tables.ts'
import { runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { toMatchedPackage } from '../matching/candidate.ts'
import { type FindingRow, findingColumns } from '../services/finding-messages.ts'

/** Reads the findings of images, by the packages that they contain. */

type Contents = Pick<ManifestContentsRow, 'id' | 'state'>

export interface ImageContentsIds {
  readonly state: string
  /** `id` of the contents of the image, or of those of the images of an index. */
  readonly ids: readonly number[]
}

/** Returns undefined if the repo has no such manifest. */
export async function readImageContents(
  db: Db,
  repo: string,
  digest: string,
): Promise<ImageContentsIds | undefined> {
  const [own] = await readContents(db, repo, (sql) => `m.digest = ${sql.bind(digest)}`)
  if (own === undefined) return undefined
  if (own.state !== 'none') return { state: own.state, ids: [Number(own.id)] }
  const images = await readContents(
    db,
    repo,
    (sql) => `m.digest in (select r.digest from manifest_references r
      where r.root = ${sql.bind(rootOf(repo))} and r.repo = ${sql.bind(repo)} and r.manifest = ${sql.bind(digest)} and r.kind = 'manifest')`,
  )
  const known = images.filter(({ state }) => state !== 'none')
  const worst = ['failed', 'pending', 'read'].find((state) => known.some((image) => image.state === state))
  return { state: worst ?? 'none', ids: known.map(({ id }) => Number(id)) }
}

/** A manifest whose contents are not queued yet is pending. */
async function readContents(
  db: Db,
  repo: string,
  condition: (sql: SqlText) => string,
): Promise<readonly Contents[]> {
  const sql = sqlText(db.engine)
  const text = `select coalesce(c.id, -1) as id, case when c.state is null or c.state = 'backlog' then 'pending' else c.state end as state
    from manifests m left join manifest_contents c on c.root = m.root and c.repo = m.repo and c.digest = m.digest
    where m.root = ${sql.bind(rootOf(repo))} and m.repo = ${sql.bind(repo)} and ${condition(sql)}`
  return runText<Contents>(db, text, sql)
}

export interface FindingFilters {
  readonly states?: readonly string[]
  readonly severities?: readonly string[]
  /** ID or alias. */
  readonly vulnerability?: string
}

/** The last finding of a page. */
export type FindingCursor = readonly [vulnerability: string, packageId: number]

/** Reads findings ordered by vulnerability and package. An image of an index contains most packages of the others: each counts once. */
export async function readFindings(
  db: Db,
  root: string,
  ids: readonly number[],
  filters: FindingFilters,
  { after, size }: { readonly after?: FindingCursor | undefined; readonly size: number },
): Promise<FindingRow[]> {
  if (ids.length === 0) return []
  const sql = sqlText(db.engine)
  const from = fromSql(sql, root, ids, filters)
  const rest =
    after === undefined
      ? ''
      : ` and (f.vulnerability, f.package) > (${sql.bind(after[0])}, ${sql.bind(after[1])})`
  const text = `select ${findingColumns} ${from}${rest} order by f.vulnerability, f.package limit ${sql.bind(size)}`
  return runText<FindingRow>(db, text, sql)
}

export interface FindingCountRow {
  readonly state: string
  readonly severity: string
  readonly n: number
}

/** Counts findings by state and severity. */
export async function countFindings(
  db: Db,
  root: string,
  ids: readonly number[],
  filters: FindingFilters,
): Promise<readonly FindingCountRow[]> {
  if (ids.length === 0) return []
  const sql = sqlText(db.engine)
  const from = fromSql(sql, root, ids, filters)
  const text = `select f.state, f.severity, count(*) as n ${from} group by f.state, f.severity order by f.state, f.severity`
  return (await runText<FindingCountRow>(db, text, sql)).map((row) => ({ ...row, n: Number(row.n) }))
}

/** Images contain few packages: the findings are looked up by them. */
function fromSql(sql: SqlText, root: string, ids: readonly number[], filters: FindingFilters): string {
  const { states = [], severities = [], vulnerability = '' } = filters
  const conditions = [
    `from (select distinct package from manifest_packages where root = ${sql.bind(root)} and contents in (${sql.bindAll(ids)})) as i
      cross join package_findings as f cross join packages as p where f.root = ${sql.bind(root)} and f.package = i.package`,
    `p.root = ${sql.bind(root)} and p.id = i.package`,
  ]
  if (states.length > 0) conditions.push(`f.state in (${sql.bindAll(states)})`)
  if (severities.length > 0) conditions.push(`f.severity in (${sql.bindAll(severities)})`)
  if (vulnerability !== '')
    conditions.push(
      `f.vulnerability in (select v.vulnerability from vulnerability_ids v where v.root = ${sql.bind(root)} and v.id = ${sql.bind(vulnerability)})`,
    )
  return conditions.join(' and ')
}

export interface Coverage {
  readonly ecosystem: string
  readonly packages: number
  readonly isCovered: boolean
}

type CountedPackages = Pick<PackageRow, 'type' | 'namespace' | 'distribution'> & {
  readonly n: number
  readonly unmatched: number
}

/** Returns the ecosystems of the packages of images, and how many packages are not matched yet. */
export async function readCoverage(
  db: Db,
  root: string,
  ids: readonly number[],
): Promise<{ readonly coverage: readonly Coverage[]; readonly unmatched: number }> {
  if (ids.length === 0) return { coverage: [], unmatched: 0 }
  const sql = sqlText(db.engine)
  // The namespace decides only for packages of distributions.
  const namespace = `case when p.type in ('apk', 'deb', 'rpm') then p.namespace else '' end`
  const text = `select p.type, ${namespace} as namespace, p.distribution, count(*) as n, sum(case when p.matched_ms = 0 then 1 else 0 end) as unmatched
    from (select distinct package from manifest_packages where root = ${sql.bind(root)} and contents in (${sql.bindAll(ids)})) as i
    cross join packages as p where p.root = ${sql.bind(root)} and p.id = i.package group by p.type, ${namespace}, p.distribution`
  const rows = await runText<CountedPackages>(db, text, sql)
  const counted = new Map<string, { packages: number; isCovered: boolean }>()
  for (const row of rows) {
    const pkg = toMatchedPackage({ ...noPackage, ...row, root })
    const base = coverageOf(pkg)
    const release = pkg.distributionVersion === '' || base === pkg.type ? '' : `:${pkg.distributionVersion}`
    const names = await ecosystemsOf(db, root, base)
    const isRolling =
      pkg.type === 'apk' &&
      ['Wolfi', 'Chainguard', 'apk'].includes(base) &&
      (await ecosystemsOf(db, root, ROLLING_APK)).length > 0
    const isCovered = isRolling || names.some((name) => isEcosystemOf(name, pkg))
    const known = counted.get(`${base}${release}`)
    counted.set(`${base}${release}`, {
      packages: (known?.packages ?? 0) + Number(row.n),
      isCovered: isCovered && (known?.isCovered ?? true),
    })
  }
  return {
    coverage: [...counted]
      .map(([ecosystem, rest]) => ({ ecosystem, ...rest }))
      .sort((a, b) => (a.ecosystem < b.ecosystem ? -1 : 1)),
    unmatched: rows.reduce((sum, { unmatched }) => sum + Number(unmatched), 0),
  }
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

/** Returns when advisories of an organization last changed; 0: never. */
export async function readAdvisoriesTime(db: Db, root: string): Promise<number> {
  const sql = sqlText(db.engine)
  const text = `select coalesce(max(changed_ms), 0) as ms from advisory_groups where root = ${sql.bind(root)}`
  return Number((await runText<{ readonly ms: number }>(db, text, sql))[0]?.ms ?? 0)
}
