import { parentOf, pathBelowRoot, rootOf } from '../../api/uid.ts'
import { incrementRows } from '../../storage/bulk-rows.ts'
import type { Db, Tx } from '../../storage/db.ts'
import type { Branch } from '../../storage/list/list-sql.ts'
import type { AdvisoryPostingCountRow } from '../../storage/schema/tables.ts'
import type { SqlText } from '../../storage/sql-text.ts'

/**
 * Stores how many advisories of each group have a value, for frequent values: a filter that nearly all advisories match is counted
 * without reading them. The counts change in the transaction of the index entries.
 */

/** A value that an advisory gains or loses. */
export interface ValueCountChange {
  readonly uid: string
  readonly value: Uint8Array
  readonly by: 1 | -1
}

/** Updates the counts of one group, whose imports run one at a time. */
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
    numbers: ['n'],
  })
}

/** Whether counts of groups suffice for a branch: not if it starts or ends within a group. */
export function coversWholeGroups(branch: Branch): boolean {
  if ('roots' in branch) return true
  const { from, to } = branch.range
  return to === (from === '' ? 'g' : `${from.replace(/\/$/, '')}0`)
}

/** Index keys, and keys whose counts add up to the number of advisories with one of them. */
interface CountedKeys {
  readonly keys: readonly string[]
  readonly counted: readonly string[]
}

/** Returns how many advisories of a branch of groups have one of some values. In parentheses. */
export function valueCountSql(sql: SqlText, { keys, counted }: CountedKeys, branch: Branch): string {
  const among = (values: readonly string[]) =>
    `in (${values.map((value) => sql.bind(Buffer.from(value, 'hex'))).join(', ')})`
  // Values are bound in the order in which they occur in the text.
  const sum = `select coalesce(sum(c.n), 0) from advisory_posting_counts as c where c.value ${among(counted)}`
  if ('roots' in branch) return `(${sum} and c.root in (${sql.bindAll(branch.roots)}))`
  const { from, to } = branch.range
  if (from === '') return `(${sum})`
  const root = rootOf(from)
  const group = pathBelowRoot(from).replace(/\/$/, '')
  const below = `${sum} and c.root = ${sql.bind(root)} and c.parent >= ${sql.bind(group)} and c.parent < ${sql.bind(pathBelowRoot(to))}`
  if (from.endsWith('/')) return `(${below})`
  // The range may start with an advisory.
  const first = `select count(distinct p.path) from advisory_postings as p where p.value ${among(keys)} and p.root = ${sql.bind(root)}
    and p.path = ${sql.bind(group)}`
  return `((${below}) + (${first}))`
}
