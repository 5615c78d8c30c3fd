import type { Kysely } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** Background work of all kinds, with the leases of those who do it (ADR 26). */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer } = sqlRules[engine].columnTypes
  await db.schema
    .createTable('jobs')
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('key', text, (c) => c.notNull())
    .addColumn('runner', text, (c) => c.notNull())
    .addColumn('lease_ms', integer, (c) => c.notNull())
    .addColumn('due_ms', integer, (c) => c.notNull())
    .addColumn('succeeded_ms', integer, (c) => c.notNull())
    .addColumn('position', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('jobs_pk', ['kind', 'key'])
    .execute()
  await db.schema.createIndex('jobs_by_due').on('jobs').columns(['kind', 'due_ms']).execute()
}
