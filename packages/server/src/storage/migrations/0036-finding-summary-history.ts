import { type CreateTableBuilder, type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'
import type { Tables } from '../schema/tables.ts'

/**
 * How many vulnerabilities repos and groups had over time (ADR 78): the history of those that exist starts with what they have now. And the
 * images that an earlier version of the reader read, for the job that reads them again.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer } = sqlRules[engine].columnTypes
  const severities = ['critical', 'high', 'medium', 'low', 'none', 'unknown']
  let points: CreateTableBuilder<string, string> = db.schema.createTable('scope_findings')
  for (const name of ['root', 'scope']) points = points.addColumn(name, text, (c) => c.notNull())
  for (const name of ['time_ms', 'images', 'unread_images', ...severities])
    points = points.addColumn(name, integer, (c) => c.notNull())
  await points.addPrimaryKeyConstraint('scope_findings_pk', ['root', 'scope', 'time_ms']).execute()

  const tables = db as Kysely<Tables>
  for (const [table, kind] of [
    ['repos', 'repo'],
    ['groups', 'group'],
  ] as const)
    await tables
      .insertInto('finding_history_changes')
      .columns(['root', 'kind', 'subject', 'changed_ms', 'revision'])
      .expression((from) =>
        from
          .selectFrom(table)
          .select([
            'root',
            sql.lit(kind).as('kind'),
            'uid as subject',
            sql.lit(0).as('changed_ms'),
            sql.lit(1).as('revision'),
          ]),
      )
      .execute()

  await db.schema
    .createIndex('manifest_contents_by_reader')
    .on('manifest_contents')
    .columns(['reader', 'due_ms'])
    .where(sql.ref('state'), 'in', [sql.lit('read'), sql.lit('failed')])
    .execute()
}
