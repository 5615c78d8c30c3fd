import type { Store } from '../../storage/store.ts'

/** id of the client that a session was given to; undefined when the session has ended. */
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
