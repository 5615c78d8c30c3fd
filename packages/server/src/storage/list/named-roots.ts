import { rootOf } from '../../api/uid.ts'
import type { Db, Tx } from '../db.ts'
import { runInTransaction, runLongText, type SqlText, sqlText } from '../sql-text.ts'

/**
 * Conditions that name organizations. A statement asks those servers of a distributed database whose organizations it names with a value;
 * what it finds by a join is on any of them. On one server the statements have no such conditions and cost nothing more.
 */

/** Roots that a statement names; undefined: none. */
export type NamedRoots = readonly string[] | undefined

/** More of them are on all servers. */
const ROOTS_MAX = 1000

/** What a statement about many uids must consider; undefined for a database on one server. */
export type Distribution = { readonly roots: NamedRoots } | undefined

export async function distributionOf(db: Db, uids: readonly string[]): Promise<Distribution> {
  return (await db.rules.isDistributed(db)) ? { roots: await namedRootsOf(db, uids) } : undefined
}

/** Returns the roots of some uids if the database is distributed; the uid '' is that of the platform, which has all. */
export async function namedRootsOf(db: Db, uids: readonly string[]): Promise<NamedRoots> {
  if (uids.includes('') || !(await db.rules.isDistributed(db))) return undefined
  return limitRoots(uids.map(rootOf))
}

/** Returns the roots of the identities that a subquery selects as `identity_uid` if the database is distributed. */
export async function readIdentityRoots(
  db: Db,
  subquery: (sql: SqlText) => string,
  tx?: Tx,
): Promise<NamedRoots> {
  if (!(await db.rules.isDistributed(db))) return undefined
  const sql = sqlText(db.engine)
  const text = `select distinct substr(identity_uid, 1, 40) as root from (${subquery(sql)}) as bound
    limit ${sql.bind(ROOTS_MAX + 1)}`
  const rows = await (tx === undefined
    ? runLongText<{ root: string }>(db, text, sql)
    : runInTransaction<{ root: string }>(tx, text, sql))
  return limitRoots(rows.map(({ root }) => root))
}

/** Returns undefined if there are more than a statement should name. */
export function limitRoots(all: readonly string[]): NamedRoots {
  const roots = [...new Set(all)]
  if (roots.length > ROOTS_MAX) return undefined
  // A list in SQL has at least one value: no identity and no organization has this root.
  return roots.length === 0 ? [''] : roots
}

/** Returns a further condition of a statement; '' without roots. */
export function andIn(sql: SqlText, column: string, roots: NamedRoots): string {
  return roots === undefined ? '' : ` and ${column} in (${sql.bindAll(roots)})`
}
