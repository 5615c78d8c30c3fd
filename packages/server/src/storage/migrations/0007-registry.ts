import { type Kysely, sql } from 'kysely'
import type { Engine } from '../db.ts'

/**
 * What is pushed: manifests with their bytes, links of repos to blobs, uploads. The bytes of blobs lie in the blob store, once for all
 * organizations; `blobs` says where, and is the one table here that belongs to none of them.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const text = engine === 'postgres' ? sql`text collate "C"` : sql`text`
  const int = engine === 'postgres' ? sql`bigint` : sql`integer`
  const bytes = engine === 'postgres' ? sql`bytea` : sql`blob`
  const keyOnly = engine === 'postgres' ? sql`` : sql`without rowid`

  await db.schema
    .createTable('blobs')
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('size', int, (c) => c.notNull())
    .addColumn('location', text, (c) => c.notNull())
    .addColumn('created_ms', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('blobs_pk', ['digest'])
    .execute()

  const inRepo = (table: string) =>
    db.schema
      .createTable(table)
      .addColumn('root', text, (c) => c.notNull())
      .addColumn('repo', text, (c) => c.notNull())

  await inRepo('repo_blobs')
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('size', int, (c) => c.notNull())
    .addColumn('linked_ms', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('repo_blobs_pk', ['root', 'repo', 'digest'])
    .modifyEnd(keyOnly)
    .execute()
  // Whether any repo, or any of an organization, still has a link to some bytes.
  await db.schema.createIndex('repo_blobs_by_digest').on('repo_blobs').columns(['digest', 'root']).execute()

  await inRepo('manifests')
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('media_type', text, (c) => c.notNull())
    .addColumn('size', int, (c) => c.notNull())
    .addColumn('subject', text, (c) => c.notNull())
    .addColumn('artifact_type', text, (c) => c.notNull())
    .addColumn('annotations', text, (c) => c.notNull())
    .addColumn('created_ms', int, (c) => c.notNull())
    .addColumn('touched_ms', int, (c) => c.notNull())
    .addColumn('content', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('manifests_pk', ['root', 'repo', 'digest'])
    .execute()
  await db.schema
    .createIndex('manifests_by_subject')
    .on('manifests')
    .columns(['root', 'repo', 'subject', 'digest'])
    .where(sql.ref('subject'), '<>', sql.lit(''))
    .execute()

  await inRepo('manifest_references')
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('manifest', text, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('manifest_references_pk', ['root', 'repo', 'digest', 'manifest', 'kind'])
    .modifyEnd(keyOnly)
    .execute()
  await db.schema
    .createIndex('manifest_references_by_manifest')
    .on('manifest_references')
    .columns(['root', 'repo', 'manifest'])
    .execute()

  await inRepo('uploads')
    .addColumn('id', text, (c) => c.notNull())
    .addColumn('identity', text, (c) => c.notNull())
    .addColumn('size', int, (c) => c.notNull())
    .addColumn('state', text, (c) => c.notNull())
    .addColumn('writer', text, (c) => c.notNull())
    .addColumn('lease_ms', int, (c) => c.notNull())
    .addColumn('created_ms', int, (c) => c.notNull())
    .addColumn('expires_ms', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('uploads_pk', ['root', 'repo', 'id'])
    .execute()
  await db.schema.createIndex('uploads_by_expiry').on('uploads').columns(['expires_ms', 'id']).execute()
  // What the blob store has of an upload says no more than its id.
  await db.schema.createIndex('uploads_by_id').on('uploads').columns(['id']).execute()

  // Long work on the registry that one process at a time does, and how far it is.
  await db.schema
    .createTable('registry_runs')
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('runner', text, (c) => c.notNull())
    .addColumn('lease_ms', int, (c) => c.notNull())
    .addColumn('due_ms', int, (c) => c.notNull())
    .addColumn('succeeded_ms', int, (c) => c.notNull())
    .addColumn('position', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('registry_runs_pk', ['name'])
    .execute()

  // What organizations have stored, in parts that are written side by side.
  await db.schema
    .createTable('registry_usage')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('part', text, (c) => c.notNull())
    .addColumn('manifests', int, (c) => c.notNull())
    .addColumn('bytes', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('registry_usage_pk', ['root', 'part'])
    .modifyEnd(keyOnly)
    .execute()

  await db.schema
    .createTable('repo_policies')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => c.notNull())
    .addColumn('policy', bytes, (c) => c.notNull())
    .addColumn('updated_ms', int, (c) => c.notNull())
    .addColumn('due_ms', int, (c) => c.notNull())
    .addColumn('run', bytes, (c) => c.notNull())
    .addColumn('runner', text, (c) => c.notNull())
    .addColumn('lease_ms', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('repo_policies_pk', ['root', 'uid'])
    .execute()
  await db.schema
    .createIndex('repo_policies_by_due')
    .on('repo_policies')
    .columns(['due_ms'])
    .where(sql.ref('due_ms'), '>', sql.lit(0))
    .execute()
}
