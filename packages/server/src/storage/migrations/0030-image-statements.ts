import type { Kysely } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** What VEX documents that are attached to an image state about its vulnerabilities (ADR 66). */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer } = sqlRules[engine].columnTypes
  await db.schema
    .createTable('image_statements')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('contents', integer, (c) => c.notNull())
    .addColumn('package', integer, (c) => c.notNull())
    .addColumn('vulnerability', text, (c) => c.notNull())
    .addColumn('state', text, (c) => c.notNull())
    .addColumn('justification', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('image_statements_pk', ['root', 'contents', 'package', 'vulnerability'])
    .execute()
}
