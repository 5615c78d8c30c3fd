import { type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/**
 * Stores row counts by their key on SQLite: the total of an organization adds up hundreds of them, each of which took a look-up in an index and
 * one in the table.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { storesByKey, columnTypes } = sqlRules[engine]
  if (!storesByKey) return
  const { text, integer, keyOnly } = columnTypes
  await db.schema
    .createTable('counts_by_key')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('collection', text, (c) => c.notNull())
    .addColumn('start', text, (c) => c.notNull())
    .addColumn('n', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('counts_pk', ['root', 'collection', 'start'])
    .modifyEnd(keyOnly)
    .execute()
  await sql`insert into counts_by_key (root, collection, start, n) select root, collection, start, n from counts`.execute(
    db,
  )
  await db.schema.dropTable('counts').execute()
  await db.schema.alterTable('counts_by_key').renameTo('counts').execute()
}
