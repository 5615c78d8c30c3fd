import { type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** The index of the words of vulnerability records (ADR 89). Records that exist already are added in the background. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer, bytes } = sqlRules[engine].columnTypes
  await db.schema
    .alterTable('vulnerability_records')
    .addColumn('segment', integer, (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createIndex('vulnerability_records_unindexed')
    .on('vulnerability_records')
    .columns(['root', 'parent'])
    .where(sql.ref('segment'), '<=', sql.lit(0))
    .execute()

  const inSegment = (table: string) =>
    db.schema
      .createTable(table)
      .addColumn('root', text, (c) => c.notNull())
      .addColumn('parent', text, (c) => c.notNull())
      .addColumn('segment', integer, (c) => c.notNull())
  await inSegment('record_segments')
    .addColumn('records', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('record_segments_pk', ['root', 'parent', 'segment'])
    .execute()
  await inSegment('record_blocks')
    .addColumn('block', integer, (c) => c.notNull())
    .addColumn('words', text, (c) => c.notNull())
    .addColumn('postings', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('record_blocks_pk', ['root', 'parent', 'segment', 'block'])
    .execute()
  await inSegment('record_gaps')
    .addColumn('key', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('record_gaps_pk', ['root', 'parent', 'segment', 'key'])
    .execute()

  await db.schema
    .createTable('record_index_changes')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('parent', text, (c) => c.notNull())
    .addColumn('revision', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('record_index_changes_pk', ['root', 'parent'])
    .execute()
  await sql`insert into record_index_changes (root, parent, revision)
    select distinct root, parent, 1 from vulnerability_records`.execute(db)
}
