import type { Kysely } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** Images whose signatures are verified in the background, before policies need the result (ADR 65). */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer, keyOnly } = sqlRules[engine].columnTypes
  await db.schema
    .createTable('signature_changes')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('scope', text, (c) => c.notNull())
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('revision', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('signature_changes_pk', ['root', 'scope', 'digest'])
    .modifyEnd(keyOnly)
    .execute()
}
