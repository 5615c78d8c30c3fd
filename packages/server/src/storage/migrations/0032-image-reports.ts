import type { Kysely } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** Reports of scanners that are attached to an image (ADR 68). */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer, bytes } = sqlRules[engine].columnTypes
  let table = db.schema
    .createTable('image_reports')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('contents', integer, (c) => c.notNull())
    .addColumn('position', integer, (c) => c.notNull())
  for (const name of ['scanner', 'version', 'format']) table = table.addColumn(name, text, (c) => c.notNull())
  for (const name of [
    ...[
      'created_ms',
      'database_ms',
      'findings',
      'critical',
      'high',
      'medium',
      'low',
      'negligible',
      'unknown',
    ],
    'stored',
  ])
    table = table.addColumn(name, integer, (c) => c.notNull())
  await table
    .addColumn('content', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('image_reports_pk', ['root', 'contents', 'position'])
    .execute()
}
