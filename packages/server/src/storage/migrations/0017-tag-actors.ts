import type { Kysely } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** Who moved a tag. Nodes of the previous release write history without it. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text } = sqlRules[engine].columnTypes
  await db.schema
    .alterTable('tag_digests')
    .addColumn('actor', text, (c) => c.notNull().defaultTo(''))
    .execute()
}
