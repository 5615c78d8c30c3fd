import { ResourceKind } from '@berth/contract/gen/berth/search/v1/search_pb.js'
import { parentOf, rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { managedRoles } from '../iam/managed-roles.ts'
import { rangeCountSql, rootsCountSql } from '../storage/counts/row-counts.ts'
import type { Db } from '../storage/db.ts'
import { readWithUsers } from '../storage/list/lost-servers.ts'
import { andIn, limitRoots, type NamedRoots, readIdentityRoots } from '../storage/list/named-roots.ts'
import { readRowsByUid } from '../storage/rows-by-uid.ts'
import { runCachedText, runLongText, type SqlText, sqlText } from '../storage/sql-text.ts'
import { type Area, isOrganization, rowsIn } from './areas.ts'
import type { Found, Match } from './matches.ts'
import { wordsOf, wordsSql } from './search-text.ts'

/**
 * Finds resources by a prefix of a word in their name. An index of names has the names of an organization together, so one statement reads
 * the names of all kinds, and no other column (ADR 46). Too many names are searched by the prefix of the name only.
 */

export type NamedTable = 'groups' | 'repos' | 'identities' | 'roles' | 'role_bindings'

interface Scan {
  readonly table: NamedTable
  readonly area: Area
}

interface FoundRow {
  readonly collection: NamedTable
  readonly uid: string
  readonly parent: string
  readonly rank: number | string
}

/** The last character: names with a prefix are between the prefix and the prefix with this appended. */
export const LAST = '\u{10ffff}'

/** `text` is in lower case, as names are. `kinds`: those to return. */
export async function findNamed(
  db: Db,
  text: string,
  areas: ReadonlyMap<NamedTable, Area>,
  kinds: ReadonlySet<ResourceKind>,
): Promise<Found> {
  const scans = [...areas].flatMap(([table, area]) => (area.ranges.length > 0 ? [{ table, area }] : []))
  const incomplete = new Set<NamedTable>(scans.filter(({ area }) => area.isPartial).map(({ table }) => table))
  const large = await findLargeAreas(db, scans)
  const users = large.has('role_bindings') ? undefined : areas.get('role_bindings')
  const allRoots = users && users.ranges.length > 0 ? await readUserRoots(db, users) : undefined
  const { result: rows, unread } = await readWithUsers(db, allRoots, async ({ roots: userRoots }) => {
    const sql = sqlText(db.engine)
    const parts = scans.map(
      (scan) =>
        `select * from (${scanSql(sql, scan, text, { isLarge: large.has(scan.table), userRoots })}) as part`,
    )
    return parts.length === 0 ? [] : runLongText<FoundRow>(db, parts.join(' union all '), sql)
  })
  if (unread.length > 0) incomplete.add('role_bindings')
  for (const { table } of scans) {
    const isCut = rows.filter(({ collection }) => collection === table).length > limits.searchCandidatesMax
    if (large.has(table) || isCut) incomplete.add(table)
  }
  const matches = [...(await readMatches(db, rows)), ...matchManagedRoles(text, areas)]
  return {
    matches: matches.filter(({ kind }) => kinds.has(kind)),
    incomplete: [...incomplete].flatMap((table) => kindsOf[table].filter((kind) => kinds.has(kind))),
  }
}

const kindsOf: Readonly<Record<NamedTable, readonly ResourceKind[]>> = {
  groups: [ResourceKind.ORGANIZATION, ResourceKind.FOLDER],
  repos: [ResourceKind.REPOSITORY],
  identities: [ResourceKind.IDENTITY],
  roles: [ResourceKind.ROLE],
  role_bindings: [ResourceKind.USER],
}

/** Returns the tables with more names in their area than one search reads. */
async function findLargeAreas(db: Db, scans: readonly Scan[]): Promise<ReadonlySet<NamedTable>> {
  if (scans.length === 0) return new Set()
  const sql = sqlText(db.engine)
  const counts = scans.map(({ table, area: { ranges } }) => {
    const rows =
      ranges.length > db.sizes.branchesMax
        ? rootsCountSql(sql, table, limitRoots(ranges.map(({ from }) => rootOf(from))))
        : ranges.map((range) => rangeCountSql(sql, table, range)).join(' + ')
    return `select '${table}' as collection, ${rows} as n`
  })
  const rows = await runCachedText<{ collection: NamedTable; n: number }>(db, counts.join(' union all '), sql)
  return new Set(
    rows.filter(({ n }) => Number(n) > limits.searchScanRowsMax).map(({ collection }) => collection),
  )
}

interface ScanOptions {
  readonly isLarge: boolean
  /** Roots of users with roles in the area. */
  readonly userRoots: NamedRoots
}

function scanSql(
  sql: SqlText,
  { table, area }: Scan,
  text: string,
  { isLarge, userRoots }: ScanOptions,
): string {
  const max = limits.searchCandidatesMax + 1
  if (table === 'role_bindings') return isLarge ? noRows : usersSql(sql, area, text, { max, userRoots })
  const usesNames = isLarge || area.ranges.every(isOrganization)
  // Values are bound in the order in which they occur in the text.
  const rank = `case when t.name = ${sql.bind(text)} then 0 when t.name >= ${sql.bind(text)} and t.name < ${sql.bind(text + LAST)} then 1 else 2 end`
  const { from, where } = rowsIn(sql, area, {
    table,
    uid: 'uid',
    ...(usesNames && { index: `${table}_by_name` }),
  })
  const matches = isLarge
    ? `t.name >= ${sql.bind(text)} and t.name < ${sql.bind(text + LAST)}`
    : `${sql.rules.contains('t.name', sql.bind(longestWord(text)))} and ${sql.rules.contains(wordsSql('t.name'), sql.bind(wordsOf(text)))}`
  return `select '${table}' as collection, t.uid, '' as parent, ${rank} as rank from ${from} where ${where} and ${matches}
    order by 4, t.name limit ${sql.bind(max)}`
}

/** Most names do not have it, and are decided without splitting them. */
function longestWord(text: string): string {
  return wordsOf(text)
    .split(' ')
    .reduce((longest, word) => (word.length > longest.length ? word : longest), '')
}

const noRows = `select 'role_bindings' as collection, '' as uid, '' as parent, 0 as rank where 1 = 0`

/** Users have no organization: they are found where they have roles, by their name or address. */
function usersSql(
  sql: SqlText,
  area: Area,
  text: string,
  { max, userRoots }: { readonly max: number; readonly userRoots: NamedRoots },
): string {
  const exact = `case when i.name = ${sql.bind(text)} or lower(i.email) = ${sql.bind(text)} then 0`
  const prefix = `when i.name >= ${sql.bind(text)} and i.name < ${sql.bind(text + LAST)} or lower(i.email) >= ${sql.bind(text)} and lower(i.email) < ${sql.bind(text + LAST)} then 1`
  const rank = `min(${exact} ${prefix} else 2 end)`
  const bound = boundSql(sql, area)
  const words = wordsOf(text)
  const matches = [
    sql.rules.contains(wordsSql('i.name'), sql.bind(words)),
    sql.rules.contains(wordsSql('lower(i.email)'), sql.bind(words)),
  ]
  return `select 'role_bindings' as collection, t.identity_uid as uid, min(t.parent) as parent, ${rank} as rank
    from (${bound}) as t
      join identities as i on i.root = t.identity_uid and i.uid = t.identity_uid
    where (${matches.join(' or ')})${andIn(sql, 'i.root', userRoots)} group by t.identity_uid order by 4, 2 limit ${sql.bind(max)}`
}

function boundSql(sql: SqlText, area: Area): string {
  const { from, where } = rowsIn(sql, area, { table: 'role_bindings', uid: 'uid' })
  return `select t.identity_uid, t.parent from ${from} where ${where}`
}

/** Workloads are found by their own name, and are in the organization. */
function readUserRoots(db: Db, area: Area): Promise<NamedRoots> {
  return readIdentityRoots(db, (sql) => boundSql(sql, area))
}

async function readMatches(db: Db, rows: readonly FoundRow[]): Promise<Match[]> {
  const matches: Match[] = []
  const of = (table: NamedTable) => rows.filter(({ collection }) => collection === table)
  for (const table of ['groups', 'repos', 'identities', 'roles'] as const) {
    const found = of(table)
    const byUid = await readRowsByUid(
      db.kysely,
      table,
      ['name', 'description', 'updated_ms'],
      found.map(({ uid }) => uid),
    )
    for (const { uid, rank } of found) {
      const row = byUid.get(uid)
      if (row === undefined) continue
      const parent = parentOf(uid)
      const kind = table === 'groups' && parent === '' ? ResourceKind.ORGANIZATION : kindsOf[table].at(-1)
      matches.push({
        kind: kind ?? ResourceKind.UNSPECIFIED,
        uid,
        name: row.name,
        detail: row.description,
        parent,
        digest: '',
        updatedMs: row.updated_ms,
        rank: Number(rank),
      })
    }
  }
  const users = of('role_bindings')
  const identities = await readRowsByUid(
    db.kysely,
    'identities',
    ['name', 'email', 'updated_ms'],
    users.map(({ uid }) => uid),
  )
  for (const { uid, parent, rank } of users) {
    const row = identities.get(uid)
    if (row === undefined) continue
    matches.push({
      kind: ResourceKind.USER,
      uid,
      name: row.email || row.name,
      detail: row.email === '' ? '' : row.name,
      parent,
      digest: '',
      updatedMs: row.updated_ms,
      rank: Number(rank),
    })
  }
  return matches
}

/** Every caller can read managed roles. */
function matchManagedRoles(text: string, areas: ReadonlyMap<NamedTable, Area>): Match[] {
  if (!areas.has('roles')) return []
  return managedRoles.flatMap(({ uid, name, description }) => {
    if (!wordsOf(name).includes(wordsOf(text))) return []
    const rank = name === text ? 0 : name.startsWith(text) ? 1 : 2
    return [
      { kind: ResourceKind.ROLE, uid, name, detail: description, parent: '', digest: '', updatedMs: 0, rank },
    ]
  })
}
