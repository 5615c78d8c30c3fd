import { type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'
import type { Tables } from '../schema/tables.ts'

/** The other organizations that have copies of a repo (ADR 114), with those of existing copies. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, keyOnly } = sqlRules[engine].columnTypes
  await db.schema
    .createTable('copying_organizations')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('source', text, (c) => c.notNull())
    .addColumn('organization', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('copying_organizations_pk', ['root', 'source', 'organization'])
    .modifyEnd(keyOnly)
    .execute()
  const sourceRoot = sql<string>`substr(source, 1, 40)`
  await (db as Kysely<Tables>)
    .insertInto('copying_organizations')
    .columns(['root', 'source', 'organization'])
    .expression((from) =>
      from
        .selectFrom('repos')
        .select([sourceRoot.as('root'), 'source', 'root as organization'])
        .distinct()
        .where('source', '<>', '')
        .where('root', '<>', sourceRoot),
    )
    .execute()
}
