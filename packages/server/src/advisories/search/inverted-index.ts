import { pathBelowRoot, ROOT_CHARS, rootOf } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import type { IndexCondition as ListCondition } from '../../storage/list/list-index.ts'
import type { Branch } from '../../storage/list/list-sql.ts'
import { runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { coversWholeGroups, valueCountSql } from './value-counts.ts'

/**
 * Filters of advisories by postings: for every value of every property the advisories that have it, in the order of their uids. Where
 * few advisories pass the rarest filter they are looked up. Where many do, a list by uid goes along the postings, and any other
 * order from one advisory to the next: a page is full soon then.
 */

/** That an advisory has one of some values, or none of them. */
export interface ValueCondition extends ListCondition {
  /** Of the values, as postingKey makes them, in hexadecimal. */
  readonly keys: readonly string[]
  readonly none?: true
  /** The values whose numbers together are how many advisories have one of `keys`. */
  readonly counted?: readonly string[]
}

/** That one of its texts has a part, in lower case. */
export interface TextCondition extends ListCondition {
  readonly part: string
}

export type IndexCondition = ValueCondition | TextCondition

/** That an advisory has none of some values. */
export function isExclusion(condition: object): condition is ValueCondition {
  return 'keys' in condition && 'none' in condition
}

/** No character comes after it: what begins with a text lies between the text and the text with this at its end. */
const LAST = '\u{10ffff}'

const bindKey = (sql: SqlText, key: string) => sql.bind(Buffer.from(key, 'hex'))

/** Columns of a posting, as a list of them is joined with advisories, and as they are. */
type PostingColumns = 'p.root, p.root || p.path as uid' | 'p.root, p.path'

/** The postings of a branch that pass, as a SELECT; some more than once. Not for `none`. */
export function postingsSql(
  sql: SqlText,
  condition: IndexCondition,
  branch: Branch,
  columns: PostingColumns = 'p.root, p.root || p.path as uid',
): string {
  if ('keys' in condition) {
    const keys = condition.keys.map((key) => bindKey(sql, key)).join(', ')
    // The text is bound in the order in which it is read.
    return `select ${columns} from advisory_postings as p where p.value in (${keys}) and ${rangeOf(sql, branch)}`
  }
  return `select ${columns} from advisory_suffixes as s cross join advisory_postings as p
    where s.suffix >= ${sql.bind(condition.part)} and s.suffix < ${sql.bind(condition.part + LAST)}
    and p.root = s.root and p.value = s.value and ${rangeOf(sql, branch, 's')}`
}

/** How many advisories of a branch pass, in parentheses; of `none`, how many do not. */
export function postingCountSql(sql: SqlText, condition: IndexCondition, branch: Branch): string {
  if (hasStoredCount(condition, branch)) return valueCountSql(sql, condition, branch)
  const counted = matchesOncePerAdvisory(condition) ? '*' : 'distinct uid'
  return `(select count(${counted}) from (${postingsSql(sql, condition, branch)}) as posted)`
}

/** An advisory has a value once, but may have several of those that are looked for. */
function matchesOncePerAdvisory(condition: IndexCondition): boolean {
  return 'keys' in condition && condition.keys.length === 1
}

/** Whether the number of advisories of a branch that pass is kept; of `none`, of those that do not. */
export function hasStoredCount(
  condition: IndexCondition,
  branch: Branch,
): condition is ValueCondition & { readonly counted: readonly string[] } {
  return 'keys' in condition && condition.counted !== undefined && coversWholeGroups(branch)
}

/** Parts of one statement along postings: one for each value and branch. */
const PARTS_MAX = 100

/**
 * The FROM and the first conditions of SELECTs that together go along the postings of a filter, in the order of `p.path` each. Undefined
 * where postings are not in that order or are too many. They are made one after the other, since each binds its values.
 */
export function postingScans(
  condition: IndexCondition | undefined,
  branches: readonly Branch[],
): ((sql: SqlText) => string)[] | undefined {
  if (condition === undefined || !('keys' in condition)) return undefined
  if (branches.length * condition.keys.length > PARTS_MAX || !branches.every(isOneRoot)) return undefined
  return branches.flatMap((branch) =>
    condition.keys.map(
      (key) => (sql: SqlText) =>
        `advisory_postings as p cross join advisories where p.value = ${bindKey(sql, key)} and ${rangeOf(sql, branch)}
        and advisories.root = p.root and advisories.uid = p.root || p.path`,
    ),
  )
}

function isOneRoot(branch: Branch): boolean {
  return 'range' in branch && branch.range.from !== '' && branch.range.to !== 'g'
}

/** Where postings lie, `alias` being the table that is looked into first. */
function rangeOf(sql: SqlText, branch: Branch, alias = 'p'): string {
  if ('roots' in branch) return `${alias}.root in (${sql.bindAll(branch.roots)})`
  const { from, to } = branch.range
  if (from === '') {
    return to === 'g'
      ? '1 = 1'
      : `(p.root, p.path) < (${sql.bind(rootOf(to))}, ${sql.bind(pathBelowRoot(to))})`
  }
  if (to === 'g') return `(p.root, p.path) >= (${sql.bind(rootOf(from))}, ${sql.bind(pathBelowRoot(from))})`
  const range = `p.path >= ${sql.bind(pathBelowRoot(from))} and p.path < ${sql.bind(pathBelowRoot(to))}`
  return `${range} and ${alias}.root = ${sql.bind(rootOf(from))}`
}

/** That the advisory of the row that is being looked at passes. */
export function matchesConditionSql(sql: SqlText, condition: IndexCondition): string {
  if ('part' in condition) return sql.rules.contains('advisories.search', sql.bind(condition.part))
  const { keys, none } = condition
  const values = keys.map((key) => bindKey(sql, key)).join(', ')
  return `${none ? 'not ' : ''}exists (select 1 from advisory_postings as p where p.root = advisories.root
    and p.value in (${values}) and p.path = ${pathText('advisories.uid')})`
}

/** SQL of the path of a uid. */
function pathText(uid: string): string {
  return `substr(${uid}, ${ROOT_CHARS + 1})`
}

/**
 * The condition that the fewest advisories pass, with how many postings it has: up to `max`, and `max + 1` for more, unless the number
 * is kept. `total`: how many advisories pass, where that is known.
 */
export async function findRarestCondition(
  db: Db,
  conditions: readonly IndexCondition[],
  branches: readonly Branch[],
  max: number,
): Promise<
  | { readonly condition: IndexCondition; readonly rows: number; readonly total: number | undefined }
  | undefined
> {
  const candidates = conditions.filter((condition) => !('none' in condition))
  if (candidates.length === 0 || branches.length === 0) return undefined
  const sql = sqlText(db.engine)
  const isStored = (condition: IndexCondition) =>
    branches.every((branch) => hasStoredCount(condition, branch))
  const counts = candidates.map((condition) => {
    if (isStored(condition))
      return branches.map((branch) => postingCountSql(sql, condition, branch)).join(' + ')
    const each = branches.map((branch) => postingsSql(sql, condition, branch)).join(' union all ')
    return `(select count(*) from (select 1 from (${each}) as posted limit ${sql.bind(max + 1)}) as few)`
  })
  const columns = counts.map((count, at) => `${count} as n${at}`).join(', ')
  const [row] = await runText<Record<string, number>>(db, `select ${columns}`, sql)
  const found = candidates.map((condition, at) => {
    const rows = Number(row?.[`n${at}`] ?? 0)
    const isWhole = isStored(condition) || (rows <= max && matchesOncePerAdvisory(condition))
    return { condition, rows, total: isWhole ? rows : undefined }
  })
  return found.reduce((a, b) => (b.rows < a.rows ? b : a))
}
