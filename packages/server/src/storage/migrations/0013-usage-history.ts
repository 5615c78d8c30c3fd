import type { Kysely } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** What organizations and repos use, a row for each day (ADR 44). */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer } = sqlRules[engine].columnTypes
  await db.schema
    .createTable('usage_days')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('day', integer, (c) => c.notNull())
    .addColumn('stored_bytes', integer, (c) => c.notNull())
    .addColumn('manifests', integer, (c) => c.notNull())
    .addColumn('tags', integer, (c) => c.notNull())
    .addColumn('repos', integer, (c) => c.notNull())
    .addColumn('pulls', integer, (c) => c.notNull())
    .addColumn('pushes', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('usage_days_pk', ['root', 'day'])
    .execute()
  await db.schema
    .createTable('repo_usage_days')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('repo', text, (c) => c.notNull())
    .addColumn('day', integer, (c) => c.notNull())
    .addColumn('pulls', integer, (c) => c.notNull())
    .addColumn('pushes', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('repo_usage_days_pk', ['root', 'repo', 'day'])
    .execute()
  await db.schema.createIndex('repo_usage_by_day').on('repo_usage_days').columns(['root', 'day']).execute()
}
