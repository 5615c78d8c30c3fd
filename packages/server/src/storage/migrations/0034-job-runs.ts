import type { Kysely } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** Runs of the jobs of resources (ADR 76), and who requested the next one. Earlier runs are not known. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer } = sqlRules[engine].columnTypes
  await db.schema
    .createTable('job_runs')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => c.notNull())
    .addColumn('parent', text, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('state', text, (c) => c.notNull())
    .addColumn('actor', text, (c) => c.notNull())
    .addColumn('runner', text, (c) => c.notNull())
    .addColumn('started_ms', integer, (c) => c.notNull())
    .addColumn('ended_ms', integer, (c) => c.notNull())
    .addColumn('counts', text, (c) => c.notNull())
    .addColumn('error', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('job_runs_pk', ['root', 'uid'])
    .execute()
  const indexes = {
    job_runs_by_parent: ['root', 'parent', 'started_ms'],
    job_runs_by_start: ['started_ms', 'uid'],
    job_runs_by_state: ['state', 'started_ms'],
  }
  for (const [name, columns] of Object.entries(indexes))
    await db.schema.createIndex(name).on('job_runs').columns(columns).execute()

  for (const table of ['advisory_feeds', 'repo_policies'])
    await db.schema
      .alterTable(table)
      .addColumn('requested_by', text, (c) => c.notNull().defaultTo(''))
      .execute()
}
