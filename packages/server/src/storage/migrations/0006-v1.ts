import { type Kysely, sql } from 'kysely'
import type { Engine } from '../db.ts'
import type { Tables } from '../schema/tables.ts'

/**
 * What only version 1 shows: which digests a tag has pointed at, the Helm charts that deploy a repo, and how an organization wants
 * its images copied. The history of a tag that was there before begins with what it pointed at then.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const text = engine === 'postgres' ? sql`text collate "C"` : sql`text`
  const int = engine === 'postgres' ? sql`bigint` : sql`integer`
  const bytes = engine === 'postgres' ? sql`bytea` : sql`blob`

  await db.schema
    .createTable('tag_digests')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => c.notNull())
    .addColumn('since_ms', int, (c) => c.notNull())
    .addColumn('digest', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('tag_digests_pk', ['root', 'uid', 'since_ms'])
    .execute()
  const tables = db as Kysely<Tables>
  await tables
    .insertInto('tag_digests')
    .columns(['root', 'uid', 'since_ms', 'digest'])
    .expression((from) => from.selectFrom('tags').select(['root', 'uid', 'updated_ms', 'digest']))
    .execute()

  await db.schema
    .createTable('deployments')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => c.notNull())
    .addColumn('content', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('deployments_pk', ['root', 'uid'])
    .execute()

  await db.schema
    .createTable('registry_settings')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('unique_tags', int, (c) => c.notNull())
    .addColumn('grace_period', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('registry_settings_pk', ['root'])
    .execute()
}
