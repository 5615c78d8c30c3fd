import { type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/**
 * Policies at pull (ADR 55): custom policies, what applies them, what lets a digest pass, and what they decided. `policy_revisions` has a row
 * for each organization that has ever had a binding: a pull reads it together with its manifest.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer } = sqlRules[engine].columnTypes
  const hasSiblingKey = sqlRules[engine].siblingKey !== undefined
  const resource = (table: string) =>
    db.schema
      .createTable(table)
      .addColumn('root', text, (c) => c.notNull())
      .addColumn('uid', text, (c) => c.notNull())
      .addColumn('parent', text, (c) => c.notNull())
  const index = (table: string, suffix: string, columns: string[]) =>
    db.schema.createIndex(`${table}_${suffix}`).on(table).columns(columns)
  // An index key of PostgreSQL cannot have two whole uids (0012-deep-groups).
  const byParent = (table: string) =>
    hasSiblingKey
      ? sql
          .raw(`create index ${table}_by_parent_order on ${table} (root, parent, (right(uid, 16)))`)
          .execute(db)
      : index(table, 'by_parent', ['root', 'parent', 'uid']).execute()

  await resource('policies')
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('description', text, (c) => c.notNull())
    .addColumn('expression', text, (c) => c.notNull())
    .addColumn('created_ms', integer, (c) => c.notNull())
    .addColumn('updated_ms', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('policies_pk', ['root', 'uid'])
    .execute()
  await byParent('policies')
  await index('policies', 'name_taken', ['root', 'parent', 'name']).unique().execute()

  await resource('policy_bindings')
    .addColumn('policy', text, (c) => c.notNull())
    .addColumn('mode', integer, (c) => c.notNull())
    .addColumn('parameters', text, (c) => c.notNull())
    .addColumn('created_ms', integer, (c) => c.notNull())
    .addColumn('updated_ms', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('policy_bindings_pk', ['root', 'uid'])
    .execute()
  await byParent('policy_bindings')
  await index('policy_bindings', 'by_policy', ['root', 'policy']).execute()

  await resource('policy_overrides')
    .addColumn('policy', text, (c) => c.notNull())
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('reason', text, (c) => c.notNull())
    .addColumn('created_by', text, (c) => c.notNull())
    .addColumn('created_ms', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('policy_overrides_pk', ['root', 'uid'])
    .execute()
  await byParent('policy_overrides')
  await index('policy_overrides', 'by_digest', ['root', 'digest']).execute()
  await index('policy_overrides', 'by_policy', ['root', 'policy']).execute()

  await resource('policy_decisions')
    .addColumn('day', integer, (c) => c.notNull())
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('policy', text, (c) => c.notNull())
    .addColumn('policy_name', text, (c) => c.notNull())
    .addColumn('mode', integer, (c) => c.notNull())
    .addColumn('result', integer, (c) => c.notNull())
    .addColumn('reason', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('policy_decisions_pk', ['root', 'uid'])
    .execute()
  await index('policy_decisions', 'by_day', ['root', 'day', 'uid']).execute()
  await index('policy_decisions', 'by_digest', ['root', 'digest']).execute()

  await db.schema
    .createTable('policy_revisions')
    .addColumn('root', text, (c) => c.notNull().primaryKey())
    .addColumn('revision', integer, (c) => c.notNull())
    .execute()
}
