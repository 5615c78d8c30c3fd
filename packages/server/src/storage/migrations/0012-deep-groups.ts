import { type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/**
 * Indexes whose keys fit at any depth of groups (ADR 38). An index key of PostgreSQL has at most 2704 bytes, and a uid has 17 characters for each
 * level: no key may have two whole uids. Siblings have the same parent, so their last segments have the order of their uids; the end
 * of a uid, with two random segments, is unique. SQLite has no such limit, and its indexes stay.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  // The engines without a sibling key need none: their index keys have no limit.
  if (sqlRules[engine].siblingKey === undefined) return
  const run = (text: string) => sql.raw(text).execute(db)
  for (const table of byParentTables) {
    const rest = table === 'tags' ? ', forms' : ''
    await run(`create index ${table}_by_parent_order on ${table} (root, parent, (right(uid, 16))${rest})`)
    await run(`drop index ${table}_by_parent`)
  }
  await run(
    'create unique index role_bindings_taken_once on role_bindings (root, parent, (right(identity_uid, 40)), (right(role_uid, 40)))',
  )
  await run('drop index role_bindings_taken')
  await run('create index advisories_by_origin_name on advisories (root, origin, artifact_name)')
  await run('drop index advisories_by_origin')
  await run(
    'create unique index advisory_sources_once on advisory_sources (root, key, (right(parent, 40)), format, id)',
  )
  await run('alter table advisory_sources drop constraint advisory_sources_pk')
  await run(
    'create unique index advisory_scores_once on advisory_scores (root, alias, (right(parent, 40)), format, id, component)',
  )
  await run('alter table advisory_scores drop constraint advisory_scores_pk')
  // Without a primary key, logical replication needs the whole row to delete it.
  for (const table of ['advisory_sources', 'advisory_scores'])
    await run(`alter table ${table} replica identity full`)
}

const byParentTables = [
  'groups',
  'identities',
  'roles',
  'role_bindings',
  'repos',
  'account_associations',
  'group_invites',
  'tags',
  'advisories',
  'advisory_feeds',
]
