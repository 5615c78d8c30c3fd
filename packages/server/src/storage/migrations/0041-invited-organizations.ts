import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'
import type { Tables } from '../schema/tables.ts'

/** The organizations that have invites for an email address (ADR 112), with those of existing invites. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer } = sqlRules[engine].columnTypes
  await db.schema
    .createTable('invited_organizations')
    .addColumn('root', text, (c) => c.notNull())
    .addColumn('organization', text, (c) => c.notNull())
    .addColumn('invited_ms', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('invited_organizations_pk', ['root', 'organization'])
    .execute()
  // What an address reads, and what garbage collection does.
  await db.schema
    .createIndex('invited_organizations_by_time')
    .on('invited_organizations')
    .columns(['root', 'invited_ms'])
    .execute()
  await db.schema
    .createIndex('invited_organizations_by_organization')
    .on('invited_organizations')
    .columns(['organization', 'root'])
    .execute()
  await addExisting(db as Kysely<Tables>)
}

const ROWS_PER_READ = 500

/** SQLite has no function that computes the hash. */
async function addExisting(db: Kysely<Tables>): Promise<void> {
  for (let after = { root: '', uid: '' }; ; ) {
    const invites = await db
      .selectFrom('group_invites')
      .select(['root', 'uid', 'email', 'created_ms'])
      .where('email', '<>', '')
      .where(({ eb, refTuple, tuple }) => eb(refTuple('root', 'uid'), '>', tuple(after.root, after.uid)))
      .orderBy('root')
      .orderBy('uid')
      .limit(ROWS_PER_READ)
      .execute()
    const last = invites.at(-1)
    if (last === undefined) return
    await db
      .insertInto('invited_organizations')
      .values(
        invites.map(({ root, email, created_ms }) => ({
          root: hashOf(email),
          organization: root,
          invited_ms: created_ms,
        })),
      )
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    after = last
  }
}

/** Addresses are ASCII. */
function hashOf(email: string): string {
  return createHash('sha256').update(email.toLowerCase()).digest('hex').slice(0, 40)
}
