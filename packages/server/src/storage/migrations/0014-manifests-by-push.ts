import type { Kysely } from 'kysely'

/** Lists the manifests of a repo in the order of their pushes, and finds its last push (ADR 47). */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('manifests_by_push')
    .on('manifests')
    .columns(['root', 'repo', 'created_ms', 'digest'])
    .execute()
}
