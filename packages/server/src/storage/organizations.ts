import type { Db, Reader } from './db.ts'
import { andIn, namedRootsOf } from './list/named-roots.ts'
import type { ListedTable } from './schema/tables.ts'
import { runText, sqlText } from './sql-text.ts'

const ROOTS_PER_BATCH = 100

/** Returns the uid of the organization with a name. */
export async function findOrganizationByName(reader: Reader, name: string): Promise<string | undefined> {
  const row = await reader
    .selectFrom('organization_names')
    .select('uid')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.uid
}

/** Tables whose primary key starts with `root`. */
type TableByRoot = ListedTable | 'access_requests' | 'usage_days' | 'repo_usage_days'

/** Iterates over the organizations that have rows in a table, in order. */
export async function* iterateRoots(db: Db, table: TableByRoot): AsyncGenerator<string, void> {
  for (let after = ''; ; ) {
    const roots = await firstRoots(db, table, ROOTS_PER_BATCH, after)
    yield* roots
    if (roots.length < ROOTS_PER_BATCH) return
    after = roots.at(-1) ?? ''
  }
}

/**
 * Returns the first organizations that have rows in a table: one index lookup for each, without a scan of their rows. A distributed database
 * cannot do that for all organizations in one statement; each of its servers scans the rows of some.
 */
export async function firstRoots(db: Db, table: TableByRoot, max: number, after = ''): Promise<string[]> {
  const sql = sqlText(db.engine)
  if (await db.rules.isDistributed(db)) {
    const text = `select distinct root from ${table} where root > ${sql.bind(after)} order by root limit ${sql.bind(max)}`
    return (await runText<{ root: string }>(db, text, sql)).map(({ root }) => root)
  }
  const text = `
    with recursive found (root) as (
      select min(root) from ${table} where root > ${sql.bind(after)}
      union all
      select (select min(root) from ${table} where root > found.root) from found where found.root is not null
    )
    select root from found where root is not null limit ${sql.bind(max)}`
  const rows = await runText<{ root: string }>(db, text, sql)
  return rows.map(({ root }) => root)
}

/** Returns the uids that belong to existing organizations, as committed. */
export async function existingOrganizations(db: Db, uids: readonly string[]): Promise<ReadonlySet<string>> {
  const sql = sqlText(db.engine)
  const data = sql.bind(JSON.stringify(uids))
  const source = db.rules.jsonTexts(data, 'requested')
  const roots = await namedRootsOf(db, uids)
  // A group whose uid is its root is an organization.
  const text = `select g.uid from ${source} cross join groups as g
    where g.root = requested.value and g.uid = requested.value${andIn(sql, 'g.root', roots)}`
  const rows = await runText<{ uid: string }>(db, text, sql)
  return new Set(rows.map(({ uid }) => uid))
}
