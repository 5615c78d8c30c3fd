import { parentOf, pathBelowRoot, rootOf } from '../../api/uid.ts'
import { incrementRows } from '../../storage/bulk-rows.ts'
import type { Db, Tx } from '../../storage/db.ts'
import type { Branch } from '../../storage/list/list-sql.ts'
import type { AdvisoryPostingCountRow } from '../../storage/schema/tables.ts'
import type { SqlText } from '../../storage/sql-text.ts'

/**
 * How many advisories of each group have a value, for the values that many have: a filter that nearly everything passes is counted
 * without a look at what passes. The numbers change in the transaction of the postings.
 */

/** A value that an advisory has from now on, or no longer. */
export interface ValueCountChange {
  readonly uid: string
  readonly value: Uint8Array
  readonly by: 1 | -1
}

/** Of one group, whose imports take turns. */
export async function updateValueCounts(db: Db, tx: Tx, changes: readonly ValueCountChange[]): Promise<void> {
  const rows = new Map<string, AdvisoryPostingCountRow>()
  for (const { uid, value, by } of changes) {
    const parent = pathBelowRoot(parentOf(uid))
    const key = `${Buffer.from(value).toString('hex')}${parent}`
    rows.set(key, { root: rootOf(uid), value, parent, n: (rows.get(key)?.n ?? 0) + by })
  }
  const changed = [...rows].filter(([, { n }]) => n !== 0).sort(([a], [b]) => (a < b ? -1 : 1))
  const added = changed.map(([, row]) => row)
  await incrementRows(db, tx, 'advisory_posting_counts', added, {
    key: ['root', 'value', 'parent'],
    number: 'n',
  })
}

/** Whether the numbers of groups tell how many advisories lie in a branch: not in one that begins or ends within a group. */
export function coversWholeGroups(branch: Branch): boolean {
  if ('roots' in branch) return true
  const { from, to } = branch.range
  return to === (from === '' ? 'g' : `${from.replace(/\/$/, '')}0`)
}

/** Values of postings, and those whose numbers together are how many advisories have one of them. */
interface CountedKeys {
  readonly keys: readonly string[]
  readonly counted: readonly string[]
}

/** How many advisories of a branch of groups have one of some values. In parentheses. */
export function valueCountSql(sql: SqlText, { keys, counted }: CountedKeys, branch: Branch): string {
  const among = (values: readonly string[]) =>
    `in (${values.map((value) => sql.bind(Buffer.from(value, 'hex'))).join(', ')})`
  // The text is bound in the order in which it is read.
  const sum = `select coalesce(sum(c.n), 0) from advisory_posting_counts as c where c.value ${among(counted)}`
  if ('roots' in branch) return `(${sum} and c.root in (${sql.bindAll(branch.roots)}))`
  const { from, to } = branch.range
  if (from === '') return `(${sum})`
  const root = rootOf(from)
  const group = pathBelowRoot(from).replace(/\/$/, '')
  const below = `${sum} and c.root = ${sql.bind(root)} and c.parent >= ${sql.bind(group)} and c.parent < ${sql.bind(pathBelowRoot(to))}`
  if (from.endsWith('/')) return `(${below})`
  // The range may begin with an advisory itself.
  const first = `select count(distinct p.path) from advisory_postings as p where p.value ${among(keys)} and p.root = ${sql.bind(root)}
    and p.path = ${sql.bind(group)}`
  return `((${below}) + (${first}))`
}
