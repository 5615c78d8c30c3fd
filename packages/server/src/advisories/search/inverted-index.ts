import { pathBelowRoot, ROOT_CHARS, rootOf } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import type { IndexCondition as ListCondition } from '../../storage/list/list-index.ts'
import type { Branch } from '../../storage/list/list-sql.ts'
import { runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { coversWholeGroups, valueCountSql } from './value-counts.ts'

/**
 * Filters of advisories by an inverted index: for every value of every property, the advisories that have it, ordered by uid (the entries,
 * in table `advisory_postings`). If few advisories match the most selective filter, they are looked up by it. If many do, a list by uid
 * scans the entries, and a list in any other order scans the advisories, since a page is soon full.
 */

/** Matches advisories with one of some values, or with none of them. */
export interface ValueCondition extends ListCondition {
  /** Index keys of the values, in hexadecimal. */
  readonly keys: readonly string[]
  readonly none?: true
  /** Keys whose stored counts add up to the number of matches. */
  readonly counted?: readonly string[]
}

/** Matches advisories with a text that contains a part, in lower case. */
export interface TextCondition extends ListCondition {
  readonly part: string
}

export type IndexCondition = ValueCondition | TextCondition

/** Whether a condition matches advisories with none of some values. */
export function isExclusion(condition: object): condition is ValueCondition {
  return 'keys' in condition && 'none' in condition
}

/** The last character: texts with a prefix are between the prefix and the prefix with this appended. */
const LAST = '\u{10ffff}'

const bindKey = (sql: SqlText, key: string) => sql.bind(Buffer.from(key, 'hex'))

/** Columns of an index entry, with or without the uid that joins it to advisories. */
type PostingColumns = 'p.root, p.root || p.path as uid' | 'p.root, p.path'

/** Returns a SELECT of the entries of a branch that match; some may occur more than once. Not for `none`. */
export function postingsSql(
  sql: SqlText,
  condition: IndexCondition,
  branch: Branch,
  columns: PostingColumns = 'p.root, p.root || p.path as uid',
): string {
  if ('keys' in condition) {
    const keys = condition.keys.map((key) => bindKey(sql, key)).join(', ')
    // Values are bound in the order in which they occur in the text.
    return `select ${columns} from advisory_postings as p where p.value in (${keys}) and ${rangeOf(sql, branch)}`
  }
  return `select ${columns} from advisory_suffixes as s cross join advisory_postings as p
    where s.suffix >= ${sql.bind(condition.part)} and s.suffix < ${sql.bind(condition.part + LAST)}
    and p.root = s.root and p.value = s.value and ${rangeOf(sql, branch, 's')}`
}

/** Returns the number of matches in a branch, in parentheses; for `none`, the number of advisories that do not match. */
export function postingCountSql(sql: SqlText, condition: IndexCondition, branch: Branch): string {
  if (hasStoredCount(condition, branch)) return valueCountSql(sql, condition, branch)
  const counted = matchesOncePerAdvisory(condition) ? '*' : 'distinct uid'
  return `(select count(${counted}) from (${postingsSql(sql, condition, branch)}) as posted)`
}

/** Whether each advisory matches at most once: it may have several of the values. */
function matchesOncePerAdvisory(condition: IndexCondition): boolean {
  return 'keys' in condition && condition.keys.length === 1
}

/** Whether the number of matches in a branch is stored; for `none`, that of advisories that do not match. */
export function hasStoredCount(
  condition: IndexCondition,
  branch: Branch,
): condition is ValueCondition & { readonly counted: readonly string[] } {
  return 'keys' in condition && condition.counted !== undefined && coversWholeGroups(branch)
}

/** Maximum number of parts of a statement that scans the index: one for each value and branch. */
const PARTS_MAX = 100

/**
 * Returns the FROM and first conditions of SELECTs that together scan the entries of a filter, each in the order of `p.path`. Undefined
 * if the entries are not in that order or need too many parts. They are generators, since each binds its values when it is used.
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

/** Returns the condition for the entries of a branch; `alias` is the table that is read first. */
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

/** Returns the condition that the current row's advisory matches. */
export function matchesConditionSql(sql: SqlText, condition: IndexCondition): string {
  if ('part' in condition) return sql.rules.contains('advisories.search', sql.bind(condition.part))
  const { keys, none } = condition
  const values = keys.map((key) => bindKey(sql, key)).join(', ')
  return `${none ? 'not ' : ''}exists (select 1 from advisory_postings as p where p.root = advisories.root
    and p.value in (${values}) and p.path = ${pathText('advisories.uid')})`
}

/** Returns the SQL of the path part of a uid. */
function pathText(uid: string): string {
  return `substr(${uid}, ${ROOT_CHARS + 1})`
}

/**
 * Returns the most selective condition with its number of entries: up to `max`, `max + 1` for more, or the exact number if it is stored.
 * `total`: the number of matches, if known.
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
