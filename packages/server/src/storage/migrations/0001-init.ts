import { type Kysely, sql } from 'kysely'
import type { Engine } from '../db.ts'

/** The first schema: the tree of groups with what hangs on it, counters, audit, keys. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  // Text compares by byte on both engines: ranges over uids and the order of names depend on it.
  const text = engine === 'postgres' ? sql`text collate "C"` : sql`text`
  const int = engine === 'postgres' ? sql`bigint` : sql`integer`
  const bytes = engine === 'postgres' ? sql`bytea` : sql`blob`

  const resource = (table: string) =>
    db.schema
      .createTable(table)
      .addColumn('root', text, (c) => c.notNull())
      .addColumn('uid', text, (c) => c.notNull())
      .addColumn('parent', text, (c) => c.notNull())
      .addColumn('created_ms', int, (c) => c.notNull())
      .addColumn('updated_ms', int, (c) => c.notNull())
      .addPrimaryKeyConstraint(`${table}_pk`, ['root', 'uid'])
  const named = (table: string) =>
    resource(table)
      .addColumn('name', text, (c) => c.notNull())
      .addColumn('description', text, (c) => c.notNull())
  const index = (table: string, name: string, columns: string[]) =>
    db.schema.createIndex(`${table}_${name}`).on(table).columns(columns)

  await named('groups')
    .addColumn('verified', int, (c) => c.notNull())
    .addColumn('kind', int, (c) => c.notNull())
    .addColumn('status', int, (c) => c.notNull())
    .execute()
  await named('identities')
    .addColumn('email', text, (c) => c.notNull())
    .addColumn('email_unverified', text, (c) => c.notNull())
    .addColumn('company', text, (c) => c.notNull())
    .addColumn('relationship', int, (c) => c.notNull())
    .addColumn('relationship_data', bytes, (c) => c.notNull())
    .addColumn('issuer', text, (c) => c.notNull())
    .addColumn('subject', text, (c) => c.notNull())
    .addColumn('last_seen_ms', int, (c) => c.notNull())
    .execute()
  await named('roles')
    .addColumn('capabilities', text, (c) => c.notNull())
    .execute()
  await resource('role_bindings')
    .addColumn('identity_uid', text, (c) => c.notNull())
    .addColumn('role_uid', text, (c) => c.notNull())
    .addColumn('automatic', int, (c) => c.notNull())
    .execute()
  await named('repos')
    .addColumn('catalog_tier', int, (c) => c.notNull())
    .addColumn('configuration', bytes, (c) => c.notNull())
    .execute()

  for (const table of ['groups', 'identities', 'roles', 'repos']) {
    await index(table, 'by_name', ['root', 'name', 'uid']).execute()
  }
  for (const table of ['groups', 'identities', 'roles', 'role_bindings', 'repos']) {
    await index(table, 'by_parent', ['root', 'parent', 'uid']).execute()
    await index(table, 'by_created', ['root', 'created_ms', 'uid']).execute()
    await index(table, 'by_updated', ['root', 'updated_ms', 'uid']).execute()
  }
  // Names that must differ among siblings. Organizations are siblings of each other: their parent is ''. Theirs is the one
  // uniqueness that spans roots, kept in a table of its own so that no index of a tenant table has to.
  await index('groups', 'name_taken', ['root', 'parent', 'name']).unique().execute()
  await index('repos', 'name_taken', ['root', 'parent', 'name']).unique().execute()
  await db.schema
    .createTable('organization_names')
    .addColumn('name', text, (c) => c.primaryKey())
    .addColumn('uid', text, (c) => c.notNull())
    .execute()
  await index('role_bindings', 'taken', ['root', 'parent', 'identity_uid', 'role_uid']).unique().execute()
  // What an identity may do is asked across organizations.
  await index('role_bindings', 'by_identity', ['identity_uid']).execute()
  await index('role_bindings', 'by_role', ['role_uid']).execute()

  await db.schema
    .createTable('platform_bindings')
    .addColumn('identity_uid', text, (c) => c.notNull())
    .addColumn('role_uid', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('platform_bindings_pk', ['identity_uid', 'role_uid'])
    .execute()
  await db.schema
    .createTable('counts')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('collection', text, (c) => c.notNull())
    .addColumn('start', text, (c) => c.notNull())
    .addColumn('n', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('counts_pk', ['root', 'collection', 'start'])
    .execute()
  await db.schema
    .createTable('tombstones')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('tombstones_pk', ['root', 'uid'])
    .execute()
  await db.schema
    .createTable('audit_events')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('id', text, (c) => c.notNull())
    .addColumn('time_ms', int, (c) => c.notNull())
    .addColumn('actor', text, (c) => c.notNull())
    .addColumn('method', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => c.notNull())
    .addColumn('outcome', int, (c) => c.notNull())
    .addColumn('request_id', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('audit_events_pk', ['root', 'id'])
    .execute()
  await db.schema
    .createTable('signing_keys')
    .addColumn('kid', text, (c) => c.primaryKey())
    .addColumn('public_jwk', text, (c) => c.notNull())
    .addColumn('private_jwk', bytes, (c) => c.notNull())
    .addColumn('created_ms', int, (c) => c.notNull())
    .addColumn('signs_from_ms', int, (c) => c.notNull())
    .addColumn('expires_ms', int, (c) => c.notNull())
    .execute()
  await db.schema
    .createTable('settings')
    .addColumn('name', text, (c) => c.primaryKey())
    .addColumn('value', text, (c) => c.notNull())
    .execute()
}
