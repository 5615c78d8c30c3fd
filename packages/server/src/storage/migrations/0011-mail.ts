import type { Kysely } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/** Email that waits to be sent, and who created an invite (ADR 37). */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer, bytes } = sqlRules[engine].columnTypes
  await db.schema
    .alterTable('group_invites')
    .addColumn('created_by', text, (c) => c.notNull().defaultTo(''))
    .execute()
  await db.schema
    .createTable('mails')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => c.notNull())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('state', text, (c) => c.notNull())
    .addColumn('data', bytes, (c) => c.notNull())
    .addColumn('attempts', integer, (c) => c.notNull())
    .addColumn('problem', text, (c) => c.notNull())
    .addColumn('created_ms', integer, (c) => c.notNull())
    .addColumn('updated_ms', integer, (c) => c.notNull())
    .addColumn('expires_ms', integer, (c) => c.notNull())
    .addColumn('due_ms', integer, (c) => c.notNull())
    .addColumn('runner', text, (c) => c.notNull())
    .addColumn('lease_ms', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('mails_pk', ['root', 'uid'])
    .execute()
  await db.schema.createIndex('mails_by_due').on('mails').columns(['state', 'due_ms']).execute()
  await db.schema.createIndex('mails_by_expiry').on('mails').columns(['expires_ms']).execute()
}
