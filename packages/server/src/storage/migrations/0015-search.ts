import { type Kysely, sql } from 'kysely'

/** Finds manifests of an organization by a prefix of their digest. A digest is short, and the rows are joined by it (ADR 46). */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('create index manifests_by_digest on manifests (root, digest)').execute(db)
}
