import type { Kysely } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** The end of support that the distribution of an image states, in one place for policies and what lists packages. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { integer } = sqlRules[engine].columnTypes
  await db.schema
    .alterTable('manifest_contents')
    .addColumn('support_end_ms', integer, (c) => c.notNull().defaultTo(0))
    .execute()
}
