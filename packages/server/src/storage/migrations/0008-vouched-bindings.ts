import { type Kysely, sql } from 'kysely'
import type { Engine } from '../db.ts'
import type { Tables } from '../schema/tables.ts'

/**
 * Records who vouched: for the person of a session, for an accepted binding, and when an identity was registered. A column that is ''
 * says that there is no record, which counts nowhere: older bindings and identities have none, nor have sessions that a node of an
 * older version starts while the nodes are replaced one by one.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const text = engine === 'postgres' ? sql`text collate "C"` : sql`text`
  for (const [table, column] of [
    ['sessions', 'vouched_by'],
    ['sessions', 'vouched_email'],
    ['role_bindings', 'accepted_through'],
    ['identities', 'registered_through'],
  ] as const) {
    await db.schema
      .alterTable(table)
      .addColumn(column, text, (c) => c.notNull().defaultTo(''))
      .execute()
  }
  const tables = db as Kysely<Tables>
  await tables
    .updateTable('sessions')
    .set((row) => ({
      vouched_by: row
        .case()
        .when('provider_uid', '<>', '')
        .then('organization')
        .when('method', 'in', ['password', 'passkey'])
        .then('account')
        .else('operator')
        .end(),
    }))
    .execute()
}
