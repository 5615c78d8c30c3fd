import { rootOf } from '../core/uid.ts'
import type { Db } from './db.ts'
import type { Branch } from './list-sql.ts'
import { runText, type SqlText, sqlText } from './sql-text.ts'

/**
 * Filters of advisories by postings: for every value of every property the uids that have it, in order. A filter is either looked
 * up, when few advisories pass it, or tried on one advisory after the other, when many do: a page is full soon then.
 */

/** That an advisory has one of some values of a property, or none of them. */
export interface Posted {
  readonly facet: number
  readonly values: readonly string[]
  readonly none?: true
}

/** That one of its texts has a part, in lower case. */
export interface TextPart {
  readonly part: string
}

export type PostingCondition = Posted | TextPart

export function isPosting(condition: object): condition is PostingCondition {
  return 'facet' in condition || 'part' in condition
}

/** No character comes after it: what begins with a text lies between the text and the text with this at its end. */
const LAST = '\u{10ffff}'

/** What passes of a branch, as a SELECT of root and uid; some more than once. Not for `none`. */
export function postedIn(sql: SqlText, condition: PostingCondition, branch: Branch): string {
  const within = (alias: string): string => {
    if ('roots' in branch) return `${alias}.root in (${sql.bindAll(branch.roots)})`
    const { from, to } = branch.range
    if (from === '') return '1 = 1'
    if (to === 'g') return `${alias}.root >= ${sql.bind(rootOf(from))}`
    return `${alias}.root = ${sql.bind(rootOf(from))}`
  }
  const range = (): string => {
    if ('roots' in branch || branch.range.from === '' || branch.range.to === 'g') return ''
    return ` and p.uid >= ${sql.bind(branch.range.from)} and p.uid < ${sql.bind(branch.range.to)}`
  }
  if ('facet' in condition) {
    const { facet, values } = condition
    return `select p.root, p.uid from advisory_postings as p where ${within('p')} and p.facet = ${sql.bind(facet)}
      and p.value in (${sql.bindAll(values)})${range()}`
  }
  return `select p.root, p.uid from advisory_suffixes as s cross join advisory_postings as p
    where ${within('s')} and s.suffix >= ${sql.bind(condition.part)} and s.suffix < ${sql.bind(condition.part + LAST)}
    and p.root = s.root and p.facet = s.facet and p.value = s.value${range()}`
}

/** That the advisory of the row that is being looked at passes. */
export function isPosted(sql: SqlText, condition: PostingCondition): string {
  if ('part' in condition)
    return sql.engine === 'postgres'
      ? `strpos(advisories.search, ${sql.bind(condition.part)}) > 0`
      : `instr(advisories.search, ${sql.bind(condition.part)}) > 0`
  const { facet, values, none } = condition
  return `${none ? 'not ' : ''}exists (select 1 from advisory_postings as p where p.root = advisories.root
    and p.facet = ${sql.bind(facet)} and p.value in (${sql.bindAll(values)}) and p.uid = advisories.uid)`
}

/** The condition that the fewest advisories pass, with how many postings it has: exact up to `max`, and `max + 1` beyond. */
export async function rarest(
  db: Db,
  conditions: readonly PostingCondition[],
  branches: readonly Branch[],
  max: number,
): Promise<{ readonly condition: PostingCondition; readonly rows: number } | undefined> {
  const able = conditions.filter((condition) => !('none' in condition))
  if (able.length === 0 || branches.length === 0) return undefined
  const sql = sqlText(db.engine)
  const counts = able.map((condition) => {
    const each = branches.map((branch) => postedIn(sql, condition, branch)).join(' union all ')
    return `(select count(*) from (select 1 from (${each}) as posted limit ${sql.bind(max + 1)}) as few)`
  })
  const columns = counts.map((count, at) => `${count} as n${at}`).join(', ')
  const [row] = await runText<Record<string, number>>(db, `select ${columns}`, sql)
  const found = able.map((condition, at) => ({ condition, rows: Number(row?.[`n${at}`] ?? 0) }))
  return found.reduce((a, b) => (b.rows < a.rows ? b : a))
}
