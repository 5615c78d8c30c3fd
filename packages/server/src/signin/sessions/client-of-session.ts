import type { Store } from '../../storage/store.ts'

/** Returns the id of the client of a session; undefined if the session has ended. */
export async function clientOfSession(
  { db }: Pick<Store, 'db'>,
  session: string,
): Promise<string | undefined> {
  const row = await db.kysely
    .selectFrom('sessions')
    .select('client')
    .where('id', '=', session)
    .where('kind', '=', 'client')
    .executeTakeFirst()
  return row?.client
}
