import type { Kysely } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** What the operator API shows (ADR 45): nodes, the last result of each kind of job, runs of garbage collection and scrub. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer } = sqlRules[engine].columnTypes
  await db.schema
    .createTable('nodes')
    .addColumn('id', text, (c) => c.notNull().primaryKey())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('version', text, (c) => c.notNull())
    .addColumn('base_url', text, (c) => c.notNull())
    .addColumn('listen_address', text, (c) => c.notNull())
    .addColumn('started_ms', integer, (c) => c.notNull())
    .addColumn('seen_ms', integer, (c) => c.notNull())
    .execute()
  await db.schema
    .createTable('job_results')
    .addColumn('kind', text, (c) => c.notNull().primaryKey())
    .addColumn('key', text, (c) => c.notNull())
    .addColumn('node', text, (c) => c.notNull())
    .addColumn('succeeded', integer, (c) => c.notNull())
    .addColumn('started_ms', integer, (c) => c.notNull())
    .addColumn('ended_ms', integer, (c) => c.notNull())
    .addColumn('error', text, (c) => c.notNull())
    .addColumn('failed_ms', integer, (c) => c.notNull())
    .execute()
  await db.schema
    .createTable('storage_runs')
    .addColumn('id', text, (c) => c.notNull().primaryKey())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('state', text, (c) => c.notNull())
    .addColumn('dry_run', integer, (c) => c.notNull())
    .addColumn('actor', text, (c) => c.notNull())
    .addColumn('node', text, (c) => c.notNull())
    .addColumn('started_ms', integer, (c) => c.notNull())
    .addColumn('updated_ms', integer, (c) => c.notNull())
    .addColumn('ended_ms', integer, (c) => c.notNull())
    .addColumn('step', text, (c) => c.notNull())
    .addColumn('done', integer, (c) => c.notNull())
    .addColumn('total', integer, (c) => c.notNull())
    .addColumn('totals', text, (c) => c.notNull())
    .addColumn('findings', text, (c) => c.notNull())
    .addColumn('error', text, (c) => c.notNull())
    .addColumn('cancel', integer, (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('storage_runs_by_start')
    .on('storage_runs')
    .columns(['kind', 'started_ms'])
    .execute()
}
