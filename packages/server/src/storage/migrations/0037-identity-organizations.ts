import { type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'
import type { Tables } from '../schema/tables.ts'

/** The organizations in which users have role bindings (ADR 86), with those of existing bindings. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, keyOnly } = sqlRules[engine].columnTypes
  await db.schema
    .createTable('identity_organizations')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('identity_uid', text, (c) => c.notNull())
    .addColumn('organization', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('identity_organizations_pk', ['root', 'identity_uid', 'organization'])
    .modifyEnd(keyOnly)
    .execute()
  const identityRoot = sql<string>`substr(identity_uid, 1, 40)`
  await (db as Kysely<Tables>)
    .insertInto('identity_organizations')
    .columns(['root', 'identity_uid', 'organization'])
    .expression((from) =>
      from
        .selectFrom('role_bindings')
        .select([identityRoot.as('root'), 'identity_uid', 'root as organization'])
        .distinct()
        .where('root', '<>', identityRoot),
    )
    .execute()
}
