import { type CreateTableBuilder, type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'
import type { Tables } from '../schema/tables.ts'

/** How many vulnerabilities tags had over time (ADR 75). The history of a tag that exists starts with what its image has now. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer } = sqlRules[engine].columnTypes
  const severities = ['critical', 'high', 'medium', 'low', 'none', 'unknown']
  const create = (table: string, texts: readonly string[], integers: readonly string[]) => {
    let built: CreateTableBuilder<string, string> = db.schema.createTable(table)
    for (const name of ['root', ...texts]) built = built.addColumn(name, text, (c) => c.notNull())
    for (const name of integers) built = built.addColumn(name, integer, (c) => c.notNull())
    return built
  }

  await create('tag_findings', ['tag', 'digest', 'state'], ['time_ms', ...severities])
    .addPrimaryKeyConstraint('tag_findings_pk', ['root', 'tag', 'time_ms'])
    .execute()

  await create('finding_history_changes', ['kind', 'subject'], ['changed_ms', 'revision'])
    .addPrimaryKeyConstraint('finding_history_changes_pk', ['root', 'kind', 'subject'])
    .execute()
  await db.schema
    .createIndex('finding_history_changes_by_time')
    .on('finding_history_changes')
    .columns(['kind', 'changed_ms'])
    .execute()
  const tables = db as Kysely<Tables>
  await tables
    .insertInto('finding_history_changes')
    .columns(['root', 'kind', 'subject', 'changed_ms', 'revision'])
    .expression((from) =>
      from
        .selectFrom('tags')
        .select([
          'root',
          sql.lit('tag').as('kind'),
          'uid as subject',
          sql.lit(0).as('changed_ms'),
          sql.lit(1).as('revision'),
        ]),
    )
    .execute()
}
