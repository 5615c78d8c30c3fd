import { type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** Signature verifiers of groups, and the verified signatures of images (ADR 56). */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { columnTypes, siblingKey } = sqlRules[engine]
  const { text, integer, bytes } = columnTypes
  await db.schema
    .createTable('signature_verifiers')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => c.notNull())
    .addColumn('parent', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('description', text, (c) => c.notNull())
    .addColumn('method', bytes, (c) => c.notNull())
    .addColumn('created_ms', integer, (c) => c.notNull())
    .addColumn('updated_ms', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('signature_verifiers_pk', ['root', 'uid'])
    .execute()
  const index = (name: string, columns: readonly string[]) =>
    db.schema
      .createIndex(`signature_verifiers_${name}`)
      .on('signature_verifiers')
      .columns([...columns])
  if (siblingKey === undefined) await index('by_parent', ['root', 'parent', 'uid']).execute()
  // Two whole uids do not fit into a key of PostgreSQL at any depth of groups (ADR 38).
  else
    await sql`create index signature_verifiers_by_parent_order on signature_verifiers (root, parent, (right(uid, 16)))`.execute(
      db,
    )
  await index('by_created', ['root', 'created_ms', 'uid']).execute()
  await index('by_updated', ['root', 'updated_ms', 'uid']).execute()
  await index('by_name', ['root', 'name', 'uid']).execute()
  await index('name_taken', ['root', 'parent', 'name']).unique().execute()

  await db.schema
    .createTable('image_signatures')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('repo', text, (c) => c.notNull())
    .addColumn('digest', text, (c) => c.notNull())
    .addColumn('inputs', text, (c) => c.notNull())
    .addColumn('until_ms', integer, (c) => c.notNull())
    .addColumn('content', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('image_signatures_pk', ['root', 'repo', 'digest'])
    .execute()
}
