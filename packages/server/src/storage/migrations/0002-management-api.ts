import { type Kysely, sql } from 'kysely'
import type { Engine } from '../db.ts'

/** The rest of the management API: providers, associations, invites, mappings, tags; audit events that can be listed. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const text = engine === 'postgres' ? sql`text collate "C"` : sql`text`
  const int = engine === 'postgres' ? sql`bigint` : sql`integer`
  const bytes = engine === 'postgres' ? sql`bytea` : sql`blob`

  const table = (name: string) =>
    db.schema
      .createTable(name)
      .addColumn('root', text, (c) => c.notNull())
      .addColumn('uid', text, (c) => c.notNull())
  const resource = (name: string) =>
    table(name)
      .addColumn('parent', text, (c) => c.notNull())
      .addColumn('created_ms', int, (c) => c.notNull())
      .addColumn('updated_ms', int, (c) => c.notNull())
      .addPrimaryKeyConstraint(`${name}_pk`, ['root', 'uid'])
  const named = (name: string) =>
    resource(name)
      .addColumn('name', text, (c) => c.notNull())
      .addColumn('description', text, (c) => c.notNull())
  const index = (name: string, suffix: string, columns: string[]) =>
    db.schema.createIndex(`${name}_${suffix}`).on(name).columns(columns)

  await named('identity_providers')
    .addColumn('default_role', text, (c) => c.notNull())
    .addColumn('configuration', bytes, (c) => c.notNull())
    .addColumn('client_secret', bytes, (c) => c.notNull())
    .execute()
  await resource('external_group_role_mappings')
    .addColumn('external_group_id', text, (c) => c.notNull())
    .addColumn('role_uid', text, (c) => c.notNull())
    .addColumn('scope', text, (c) => c.notNull())
    .execute()
  await named('account_associations')
    .addColumn('configuration', bytes, (c) => c.notNull())
    .execute()
  await resource('group_invites')
    .addColumn('role_uid', text, (c) => c.notNull())
    .addColumn('email', text, (c) => c.notNull())
    .addColumn('expires_ms', int, (c) => c.notNull())
    .addColumn('single_use', int, (c) => c.notNull())
    .addColumn('key_id', text, (c) => c.notNull())
    .addColumn('code_hash', bytes, (c) => c.notNull())
    .execute()
  await resource('tags')
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('forms', int, (c) => c.notNull())
    .addColumn('deprecated', int, (c) => c.notNull())
    .addColumn('bundles', text, (c) => c.notNull())
    .execute()

  for (const name of ['identity_providers', 'account_associations']) {
    await index(name, 'by_name', ['root', 'name', 'uid']).execute()
  }
  for (const name of [
    'identity_providers',
    'external_group_role_mappings',
    'account_associations',
    'group_invites',
  ]) {
    await index(name, 'by_parent', ['root', 'parent', 'uid']).execute()
    await index(name, 'by_created', ['root', 'created_ms', 'uid']).execute()
    await index(name, 'by_updated', ['root', 'updated_ms', 'uid']).execute()
  }
  await index('tags', 'name_taken', ['root', 'parent', 'name']).unique().execute()
  // Nearly every list leaves out some forms: with them at its end an index alone can count what is left.
  await index('tags', 'by_name', ['root', 'name', 'uid', 'forms']).execute()
  await index('tags', 'by_parent', ['root', 'parent', 'uid', 'forms']).execute()
  await index('tags', 'by_updated', ['root', 'updated_ms', 'uid', 'forms']).execute()
  await index('tags', 'by_digest', ['root', 'digest', 'uid', 'forms']).execute()
  await index('tags', 'by_forms', ['root', 'forms', 'uid']).execute()
  await index('external_group_role_mappings', 'taken', [
    'root',
    'parent',
    'external_group_id',
    'role_uid',
    'scope',
  ])
    .unique()
    .execute()
  await index('group_invites', 'by_key', ['root', 'key_id']).unique().execute()
  // Who would be left without a role when one is deleted.
  await index('identity_providers', 'by_role', ['default_role']).execute()
  await index('external_group_role_mappings', 'by_role', ['role_uid']).execute()

  await table('repo_readmes')
    .addColumn('content', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('repo_readmes_pk', ['root', 'uid'])
    .execute()
  await table('identity_metadata')
    .addColumn('metadata', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('identity_metadata_pk', ['root', 'uid'])
    .execute()
  await db.schema
    .createTable('resource_limits')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('n', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('resource_limits_pk', ['root', 'kind'])
    .execute()
  await db.schema
    .createTable('access_requests')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('identity_uid', text, (c) => c.notNull())
    .addColumn('requested_ms', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('access_requests_pk', ['root', 'identity_uid'])
    .execute()
  await index('access_requests', 'by_identity', ['identity_uid']).execute()
  await db.schema
    .createTable('idempotency_keys')
    .addColumn('caller', text, (c) => c.notNull())
    .addColumn('key', text, (c) => c.notNull())
    .addColumn('request_hash', bytes, (c) => c.notNull())
    .addColumn('answer', bytes, (c) => c.notNull())
    .addColumn('created_ms', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('idempotency_keys_pk', ['caller', 'key'])
    .execute()
  await index('idempotency_keys', 'by_created', ['created_ms']).execute()

  // Counters of rate limits, as rate-limiter-flexible has its table. Each node of a PostgreSQL counts here, and a crash may lose it:
  // an unlogged row costs no wait for the disk. On SQLite they are in another file (limits/counters.ts).
  if (engine === 'postgres') {
    await sql`
      create unlogged table rate_limits (
        key text collate "C" primary key,
        points bigint not null,
        expire bigint
      )`.execute(db)
    await index('rate_limits', 'by_expire', ['expire']).execute()
  }

  // An event becomes a resource of the tree, below what it is about: whoever may see a group's events sees them by their uid. They
  // are kept in the order of time, which is how they come and how they are read; no other index makes every change dearer.
  await db.schema
    .createTable('audit_events_next')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('id', text, (c) => c.notNull())
    .addColumn('parent', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => {
      const joined = c.generatedAlwaysAs(sql`parent || '/' || id`)
      return engine === 'postgres' ? joined.stored() : joined
    })
    .addColumn('created_ms', int, (c) => c.notNull())
    .addColumn('actor', text, (c) => c.notNull())
    .addColumn('method', text, (c) => c.notNull())
    .addColumn('code', int, (c) => c.notNull())
    .addColumn('reason', text, (c) => c.notNull())
    .addColumn('request_id', text, (c) => c.notNull())
    .addColumn('address', text, (c) => c.notNull())
    .addColumn('issuer', text, (c) => c.notNull())
    .addColumn('subject', text, (c) => c.notNull())
    .addColumn('n', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('audit_events_by_time', ['root', 'id', 'parent'])
    .modifyEnd(engine === 'postgres' ? sql`` : sql`without rowid`)
    .execute()
  const time = engine === 'postgres' ? sql`lpad(to_hex(time_ms), 11, '0')` : sql`printf('%011x', time_ms)`
  // The end of the old id was random.
  await sql`
    insert into audit_events_next (root, id, parent, created_ms,
      actor, method, code, reason, request_id, address, issuer, subject, n)
    select root, ${time} || substr(id, length(id) - 4), uid, time_ms,
      actor, method, outcome, '', request_id, '', '', '', 1
    from audit_events`.execute(db)
  await db.schema.dropTable('audit_events').execute()
  await db.schema.alterTable('audit_events_next').renameTo('audit_events').execute()
}
