import { type Kysely, sql } from 'kysely'
import type { Engine } from '../db.ts'

/**
 * Advisories, the documents that they come from, and what finds them. An advisory is one row with its events in it. Whatever a list
 * may ask for is a posting: the advisories that have a value, in the order of uids, so that one index serves every filter.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const text = engine === 'postgres' ? sql`text collate "C"` : sql`text`
  const int = engine === 'postgres' ? sql`bigint` : sql`integer`
  const bytes = engine === 'postgres' ? sql`bytea` : sql`blob`
  // Rows that are all key are kept in the order of the key, without a table beside it.
  const keyOnly = engine === 'postgres' ? sql`` : sql`without rowid`

  const advisories = (name: string) =>
    db.schema
      .createTable(name)
      .addColumn('root', text, (c) => c.notNull())
      .addColumn('uid', text, (c) => c.notNull())
      .addColumn('parent', text, (c) => c.notNull())
      .addColumn('advisory_id', text, (c) => c.notNull())
      .addColumn('artifact_name', text, (c) => c.notNull())
      .addColumn('component_name', text, (c) => c.notNull())
      .addColumn('origin', text, (c) => c.notNull())
      .addColumn('product', text, (c) => c.notNull())
      .addColumn('component_product', text, (c) => c.notNull())
      .addColumn('key', text, (c) => c.notNull())
      .addColumn('record_hash', bytes, (c) => c.notNull())
      .addColumn('content', bytes, (c) => c.notNull())
      .addColumn('created_ms', int, (c) => c.notNull())
      .addColumn('updated_ms', int, (c) => c.notNull())
      .addColumn('search', text, (c) => c.notNull())
      .addColumn('osv', bytes, (c) => c.notNull())
      .addPrimaryKeyConstraint(`${name}_pk`, ['root', 'uid'])
  const index = (name: string, suffix: string, columns: string[]) =>
    db.schema.createIndex(`${name}_${suffix}`).on(name).columns(columns)

  await advisories('advisories').execute()
  await index('advisories', 'by_advisory_id', ['root', 'advisory_id', 'uid']).execute()
  await index('advisories', 'by_artifact', ['root', 'artifact_name', 'uid']).execute()
  await index('advisories', 'by_origin', ['root', 'origin', 'artifact_name', 'uid']).execute()
  await index('advisories', 'by_component', ['root', 'component_name', 'uid']).execute()
  await index('advisories', 'by_parent', ['root', 'parent', 'uid']).execute()
  await index('advisories', 'by_created', ['root', 'created_ms', 'uid']).execute()
  await index('advisories', 'by_updated', ['root', 'updated_ms', 'uid']).execute()
  await index('advisories', 'key_taken', ['root', 'parent', 'key']).unique().execute()

  // What was taken back: out of every list, and still to be got.
  await advisories('withdrawn_advisories')
    .addColumn('deleted_ms', int, (c) => c.notNull())
    .execute()
  await index('withdrawn_advisories', 'by_advisory_id', ['root', 'advisory_id', 'uid']).execute()
  await index('withdrawn_advisories', 'key_taken', ['root', 'parent', 'key']).unique().execute()

  await db.schema
    .createTable('advisory_postings')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('value', bytes, (c) => c.notNull())
    .addColumn('path', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('advisory_postings_pk', ['root', 'value', 'path'])
    .modifyEnd(keyOnly)
    .execute()
  await db.schema
    .createTable('advisory_posting_counts')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('value', bytes, (c) => c.notNull())
    .addColumn('parent', text, (c) => c.notNull())
    .addColumn('n', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('advisory_posting_counts_pk', ['root', 'value', 'parent'])
    .modifyEnd(keyOnly)
    .execute()
  await db.schema
    .createTable('advisory_part_counts')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('parent', text, (c) => c.notNull())
    .addColumn('part', text, (c) => c.notNull())
    .addColumn('n', int, (c) => c.notNull())
    .addColumn('number', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('advisory_part_counts_pk', ['root', 'parent', 'part'])
    .modifyEnd(keyOnly)
    .execute()
  await index('advisory_part_counts', 'by_number', ['root', 'number']).execute()
  await db.schema
    .createTable('advisory_suffixes')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('suffix', text, (c) => c.notNull())
    .addColumn('value', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('advisory_suffixes_pk', ['root', 'suffix', 'value'])
    .modifyEnd(keyOnly)
    .execute()

  await db.schema
    .createTable('advisory_documents')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('parent', text, (c) => c.notNull())
    .addColumn('format', text, (c) => c.notNull())
    .addColumn('id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('content_hash', bytes, (c) => c.notNull())
    .addColumn('revision_ms', int, (c) => c.notNull())
    .addColumn('imported_ms', int, (c) => c.notNull())
    .addColumn('keys', bytes, (c) => c.notNull())
    .addColumn('unmapped', text, (c) => c.notNull())
    .addColumn('content', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('advisory_documents_pk', ['root', 'parent', 'format', 'id'])
    .execute()
  await db.schema
    .createTable('advisory_groups')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => c.notNull())
    .addColumn('revision', int, (c) => c.notNull())
    .addColumn('changed_ms', int, (c) => c.notNull())
    .addColumn('public', int, (c) => c.notNull())
    .addColumn('publication', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('advisory_groups_pk', ['root', 'uid'])
    .execute()
  await db.schema
    .createTable('advisory_sources')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('parent', text, (c) => c.notNull())
    .addColumn('key', text, (c) => c.notNull())
    .addColumn('format', text, (c) => c.notNull())
    .addColumn('id', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('advisory_sources_pk', ['root', 'parent', 'key', 'format', 'id'])
    .modifyEnd(keyOnly)
    .execute()

  await db.schema
    .createTable('advisory_scores')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('alias', text, (c) => c.notNull())
    .addColumn('parent', text, (c) => c.notNull())
    .addColumn('format', text, (c) => c.notNull())
    .addColumn('id', text, (c) => c.notNull())
    .addColumn('component', text, (c) => c.notNull())
    .addColumn('severities', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('advisory_scores_pk', ['root', 'alias', 'parent', 'format', 'id', 'component'])
    .execute()
  await index('advisory_scores', 'by_document', ['root', 'parent', 'format', 'id']).execute()

  await db.schema
    .createTable('advisory_feeds')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => c.notNull())
    .addColumn('parent', text, (c) => c.notNull())
    .addColumn('url', text, (c) => c.notNull())
    .addColumn('format', text, (c) => c.notNull())
    .addColumn('interval_ms', int, (c) => c.notNull())
    .addColumn('paused', int, (c) => c.notNull())
    .addColumn('due_ms', int, (c) => c.notNull())
    .addColumn('begun_ms', int, (c) => c.notNull())
    .addColumn('succeeded_ms', int, (c) => c.notNull())
    .addColumn('failures', int, (c) => c.notNull())
    .addColumn('error', text, (c) => c.notNull())
    .addColumn('etag', text, (c) => c.notNull())
    .addColumn('last_modified', text, (c) => c.notNull())
    .addColumn('counts', bytes, (c) => c.notNull())
    .addColumn('runner', text, (c) => c.notNull())
    .addColumn('lease_ms', int, (c) => c.notNull())
    .addColumn('created_ms', int, (c) => c.notNull())
    .addColumn('updated_ms', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('advisory_feeds_pk', ['root', 'uid'])
    .execute()
  await index('advisory_feeds', 'by_parent', ['root', 'parent', 'uid']).execute()
  await index('advisory_feeds', 'by_created', ['root', 'created_ms', 'uid']).execute()
  await index('advisory_feeds', 'by_updated', ['root', 'updated_ms', 'uid']).execute()
  await index('advisory_feeds', 'by_url', ['root', 'url', 'uid']).execute()
  await index('advisory_feeds', 'url_taken', ['root', 'parent', 'url']).unique().execute()
  // Of all organizations: nodes look for what is due anywhere.
  await index('advisory_feeds', 'by_due', ['paused', 'due_ms']).execute()
}
