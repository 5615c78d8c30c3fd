import { type Kysely, sql } from 'kysely'

/** Finds the invites for an email address in all organizations. Addresses are ASCII, which both engines fold alike. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index group_invites_by_email on group_invites (lower(email)) where email <> ''`.execute(db)
}
