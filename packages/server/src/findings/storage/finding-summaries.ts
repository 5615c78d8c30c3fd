import { rootOf, subtreeRange } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import type { TagRow } from '../../storage/schema/tables.ts'
import { distinctText, runCachedText, runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import {
  type FindingCountRow,
  type FindingFilters,
  findingSource,
  fromSql,
  hasStatements,
  toCounts,
} from './image-findings.ts'

/** Counts the vulnerabilities of the images in a group or repo that have a tag. */

export interface FindingSummaryRow {
  /** Different vulnerabilities by state and severity. */
  readonly counts: readonly FindingCountRow[]
  /** Of them, those that are known to be exploited. */
  readonly exploited: readonly FindingCountRow[]
  readonly images: number
  readonly unreadImages: number
  /** Whether all packages of the organization have been matched at least once. */
  readonly isMatched: boolean
}

/** Above this number of images in an organization, its packages are looked up in images, instead of the images in packages. */
const IMAGES_BY_PACKAGE_MIN = 2000

export async function readFindingSummary(db: Db, scope: string): Promise<FindingSummaryRow> {
  const root = rootOf(scope)
  const isMatched = (await unmatchedIn(db, root)) === 0
  const states = await readStates(db, scope)
  const images = states.reduce((sum, { n }) => sum + Number(n), 0)
  const contents = (sql: SqlText) => `in (select c.id ${taggedImages(sql, scope)})`
  const source = findingSource({
    contents,
    packages:
      scope === root && images > IMAGES_BY_PACKAGE_MIN
        ? (sql) => packagesWithImages(sql, root)
        : (sql) =>
            `select ${distinctText('package')} from manifest_packages where root = ${sql.bind(root)} and contents ${contents(sql)}`,
    hasFewPackages: false,
    hasStatements: await hasStatements(db, root, contents),
  })
  const count = async (filters: FindingFilters) => {
    const sql = sqlText(db.engine)
    const from = fromSql(sql, root, source, filters)
    const found = `select distinct ${source.state} as state, f.severity, f.vulnerability ${from}`
    const text = `select state, severity, count(*) as n from (${found}) as found group by state, severity order by 1, 2`
    return toCounts(await runCachedText<FindingCountRow>(db, text, sql, { long: true }))
  }
  return {
    counts: await count({}),
    exploited: (await hasExploited(db, root)) ? await count({ isExploited: true }) : [],
    images,
    unreadImages: states.reduce((sum, { state, n }) => sum + (state === 'read' ? 0 : Number(n)), 0),
    isMatched,
  }
}

/** Whether any vulnerability that was found in the organization is known to be exploited. */
async function hasExploited(db: Db, root: string): Promise<boolean> {
  const sql = sqlText(db.engine)
  const text = `select 1 as n from vulnerability_facts where root = ${sql.bind(root)} and exploited = 1 limit 1`
  return (await runText(db, text, sql)).length > 0
}

async function readStates(db: Db, scope: string) {
  const sql = sqlText(db.engine)
  const text = `select c.state, count(*) as n ${taggedImages(sql, scope)} group by c.state`
  return runCachedText<{ readonly state: string; readonly n: number }>(db, text, sql, { long: true })
}

/** The contents of images with a tag, by themselves or in an index, as `c`; without indexes, which are pending at first. */
function taggedImages(sql: SqlText, scope: string): string {
  const { from, to } = subtreeRange(scope)
  const root = rootOf(scope)
  return `from manifest_contents as c where c.root = ${sql.bind(root)} and c.repo >= ${sql.bind(from)} and c.repo < ${sql.bind(to)}
    and c.state <> 'none' and not exists (select 1 from manifest_references as r
      where r.root = ${sql.bind(root)} and r.repo = c.repo and r.manifest = c.digest and r.kind = 'manifest')
    and ${isTagged(sql, root)}`
}

function isTagged(sql: SqlText, root: string): string {
  return `(exists (select 1 from tags as t where t.root = ${sql.bind(root)} and t.parent = c.repo and t.digest = c.digest)
    or exists (select 1 from manifest_references as r cross join tags as t
      where r.root = ${sql.bind(root)} and r.repo = c.repo and r.digest = c.digest and r.kind = 'manifest'
        and t.root = ${sql.bind(root)} and t.parent = c.repo and t.digest = r.manifest))`
}

/** The packages of an organization with findings that an image with a tag contains: most are in the first image that is tried. */
function packagesWithImages(sql: SqlText, root: string): string {
  return `select d.package from (select distinct package from package_findings where root = ${sql.bind(root)}) as d
    where exists (select 1 from manifest_packages as l cross join manifest_contents as c
      where l.root = ${sql.bind(root)} and l.package = d.package and c.root = ${sql.bind(root)} and c.id = l.contents
        and ${isTagged(sql, root)})`
}

async function unmatchedIn(db: Db, root: string): Promise<number> {
  const sql = sqlText(db.engine)
  const text = `select 1 as n from packages where root = ${sql.bind(root)} and matched_ms = 0 limit 1`
  return (await runText(db, text, sql)).length
}

interface Page {
  readonly after: string
  readonly size: number
}

/** Reads uids of the repos in a group, after one. `only`: the uids to read; all if it is empty. */
export async function readRepoPage(
  { kysely }: Db,
  group: string,
  only: readonly string[],
  { after, size }: Page,
): Promise<readonly string[]> {
  const { from, to } = subtreeRange(group)
  let query = kysely
    .selectFrom('repos')
    .select('uid')
    .where('root', '=', rootOf(group))
    .where('uid', '>=', from)
    .where('uid', '<', to)
    .where('uid', '>', after)
  if (only.length > 0) query = query.where('uid', 'in', only)
  const rows = await query.orderBy('uid').limit(size).execute()
  return rows.map(({ uid }) => uid)
}

/**
 * Reads the tags of a repo with a manifest, after a name. `only`: the names to read; all if it is empty. `since_ms`: when the tag got its
 * digest.
 */
export async function readTagPage(
  db: Db,
  repo: string,
  only: readonly string[],
  { after, size }: Page,
): Promise<readonly (Pick<TagRow, 'name' | 'digest'> & { readonly since_ms: number })[]> {
  const sql = sqlText(db.engine)
  const root = rootOf(repo)
  const text = `select t.name, t.digest, coalesce(
      (select max(d.since_ms) from tag_digests as d where d.root = ${sql.bind(root)} and d.uid = t.uid), t.updated_ms) as since_ms
    from tags as t where t.root = ${sql.bind(root)} and t.parent = ${sql.bind(repo)} and t.name > ${sql.bind(after)} and t.digest <> ''
      ${only.length === 0 ? '' : `and t.name in (${sql.bindAll(only)})`}
    order by t.name limit ${sql.bind(size)}`
  return runText(db, text, sql)
}
