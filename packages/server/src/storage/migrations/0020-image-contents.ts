import { type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/**
 * What images contain (ADR 53). Packages and readings have short numbers of their own: one organization may have 20 million pairs of them.
 * Manifests that exist already get their row in the background.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer, bytes, keyOnly } = sqlRules[engine].columnTypes
  const inOrganization = (table: string) =>
    db.schema.createTable(table).addColumn('root', text, (c) => c.notNull())

  await inOrganization('manifest_contents')
    .addColumn('uid', text, (c) => c.notNull())
    .addColumn('id', integer, (c) => c.notNull())
    .addColumn('repo', text, (c) => c.notNull())
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('state', text, (c) => c.notNull())
    .addColumn('reason', text, (c) => c.notNull())
    .addColumn('source', text, (c) => c.notNull())
    .addColumn('format', text, (c) => c.notNull())
    .addColumn('distribution_id', text, (c) => c.notNull())
    .addColumn('distribution_version', text, (c) => c.notNull())
    .addColumn('distribution_name', text, (c) => c.notNull())
    .addColumn('packages', integer, (c) => c.notNull())
    .addColumn('problems', integer, (c) => c.notNull())
    .addColumn('reader', integer, (c) => c.notNull())
    .addColumn('attempts', integer, (c) => c.notNull())
    .addColumn('read_ms', integer, (c) => c.notNull())
    .addColumn('due_ms', integer, (c) => c.notNull())
    .addColumn('runner', text, (c) => c.notNull())
    .addColumn('lease_ms', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('manifest_contents_pk', ['root', 'repo', 'digest'])
    .execute()
  await db.schema
    .createIndex('manifest_contents_by_uid')
    .unique()
    .on('manifest_contents')
    .columns(['root', 'uid'])
    .execute()
  await db.schema
    .createIndex('manifest_contents_by_id')
    .unique()
    .on('manifest_contents')
    .columns(['root', 'id'])
    .execute()
  for (const state of ['pending', 'backlog'])
    await db.schema
      .createIndex(`manifest_contents_${state}`)
      .on('manifest_contents')
      .columns(['due_ms'])
      .where(sql.ref('state'), '=', sql.lit(state))
      .execute()

  await inOrganization('packages')
    .addColumn('id', integer, (c) => c.notNull())
    .addColumn('key', text, (c) => c.notNull())
    .addColumn('type', text, (c) => c.notNull())
    .addColumn('namespace', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('version', text, (c) => c.notNull())
    .addColumn('origin_name', text, (c) => c.notNull())
    .addColumn('origin_version', text, (c) => c.notNull())
    .addColumn('purl', text, (c) => c.notNull())
    .addColumn('architecture', text, (c) => c.notNull())
    .addColumn('license', text, (c) => c.notNull())
    .addColumn('distribution', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('packages_pk', ['root', 'id'])
    .execute()
  await db.schema.createIndex('packages_by_key').unique().on('packages').columns(['root', 'key']).execute()
  await db.schema.createIndex('packages_by_name').on('packages').columns(['root', 'name', 'type']).execute()
  await db.schema
    .createIndex('packages_by_origin')
    .on('packages')
    .columns(['root', 'origin_name', 'type'])
    .where(sql.ref('origin_name'), '<>', sql.lit(''))
    .execute()

  await inOrganization('manifest_packages')
    .addColumn('contents', integer, (c) => c.notNull())
    .addColumn('package', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('manifest_packages_pk', ['root', 'contents', 'package'])
    .modifyEnd(keyOnly)
    .execute()
  await db.schema
    .createIndex('manifest_packages_by_package')
    .on('manifest_packages')
    .columns(['root', 'package', 'contents'])
    .execute()

  await inOrganization('manifest_documents')
    .addColumn('contents', integer, (c) => c.notNull())
    .addColumn('position', integer, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('format', text, (c) => c.notNull())
    .addColumn('manifest', text, (c) => c.notNull())
    .addColumn('blob', text, (c) => c.notNull())
    .addColumn('path', text, (c) => c.notNull())
    .addColumn('content', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('manifest_documents_pk', ['root', 'contents', 'position'])
    .execute()
  await db.schema
    .createIndex('manifest_documents_by_manifest')
    .on('manifest_documents')
    .columns(['root', 'manifest'])
    .where(sql.ref('manifest'), '<>', sql.lit(''))
    .execute()
}
