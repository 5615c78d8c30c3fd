import { RepoSchema } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import { type Kysely, sql } from 'kysely'
import type { Engine } from '../db.ts'
import type { Tables } from '../schema/tables.ts'

/** Which repo another one copies becomes a column: when a repo changes, its copies are looked for in all organizations. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const text = engine === 'postgres' ? sql`text collate "C"` : sql`text`
  await db.schema
    .alterTable('repos')
    .addColumn('source', text, (c) => c.notNull().defaultTo(''))
    .execute()
  const tables = db as Kysely<Tables>
  const rows = await tables.selectFrom('repos').select(['root', 'uid', 'configuration']).execute()
  for (const { root, uid, configuration } of rows) {
    const source = fromBinary(RepoSchema, configuration).syncConfig?.source
    if (source === undefined) continue
    await tables
      .updateTable('repos')
      .set({ source })
      .where('root', '=', root)
      .where('uid', '=', uid)
      .execute()
  }
  await db.schema.createIndex('repos_by_source').on('repos').columns(['source']).execute()
}
