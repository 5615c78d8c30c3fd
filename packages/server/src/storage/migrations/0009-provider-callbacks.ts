import { type Kysely, sql } from 'kysely'
import type { Engine } from '../db.ts'

/**
 * Which redirect URI identity providers use. Those that exist already have registered the shared one; so does a provider that a node of
 * the version before creates during a rolling upgrade.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const int = engine === 'postgres' ? sql`bigint` : sql`integer`
  await db.schema
    .alterTable('identity_providers')
    .addColumn('shared_callback', int, (c) => c.notNull().defaultTo(1))
    .execute()
}
