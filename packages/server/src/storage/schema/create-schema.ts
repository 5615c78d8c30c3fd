import { sql } from 'kysely'
import type { Db } from '../db.ts'

/**
 * Creates the tables of an empty database from the schema of its engine, if there is one (EngineRules.wholeSchema), because migrations take six
 * times as long. Returns the names of the migrations that it stands for.
 */
export async function createSchema({ rules }: Db, kysely: Db['kysely']): Promise<readonly string[]> {
  const isEmpty = async (database: Db['kysely']) =>
    (await sql.raw(rules.tableNamesQuery).execute(database)).rows.length === 0
  if (!(await isEmpty(kysely))) return []
  const schema = await rules.wholeSchema()
  if (schema === undefined) return []
  return await kysely.transaction().execute(async (tx) => {
    // Another process may have created tables meanwhile.
    if (!(await isEmpty(tx))) return []
    await sql.raw(schema.script).execute(tx)
    const timestamp = new Date().toISOString()
    const rows = schema.migrations.map((name) => sql`(${name}, ${timestamp})`)
    await sql`insert into migrations (name, timestamp) values ${sql.join(rows)}`.execute(tx)
    return schema.migrations
  })
}
