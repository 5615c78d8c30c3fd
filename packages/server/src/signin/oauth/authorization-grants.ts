import { sql } from 'kysely'
import type { Store } from '../../storage/store.ts'
import { groupsOfSession, type Session, type SignedIn } from '../../tokens/sessions/sessions.ts'
import { validSessionSql } from '../../tokens/sessions/valid-sessions.ts'
import type { AuthorizationRequest } from './authorization-requests.ts'

/**
 * What somebody agreed to: a client acts for them. It is kept between the consent and the moment when the client fetches its
 * tokens, and holds no longer than the browser's session in which it was given: whoever is signed out there, or whose account is
 * disabled, has given nothing (R12).
 */
export interface AuthorizationGrant
  extends Pick<AuthorizationRequest, 'client' | 'audiences' | 'idToken' | 'nonce'> {
  readonly who: SignedIn
  /** id of the browser's session. */
  readonly session: string
  /** When they signed in. */
  readonly signedInMs: number
}

export async function createAuthorizationGrant(
  store: Pick<Store, 'db'>,
  session: Session,
  { client, audiences, idToken, nonce }: AuthorizationRequest,
): Promise<AuthorizationGrant> {
  const who = await readSessionUser(store, session)
  return { who, session: session.id, signedInMs: session.createdMs, client, audiences, idToken, nonce }
}

/** Whoever has the session, as a client's session takes it over. */
export async function readSessionUser(
  store: Pick<Store, 'db'>,
  { id, identity, method, voucher }: Session,
): Promise<SignedIn> {
  return { identity, method, voucher, groups: await groupsOfSession(store, id) }
}

/** Whether the session in which it was given is still there. */
export async function isGrantActive(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  { session, who }: AuthorizationGrant,
): Promise<boolean> {
  const row = await db.kysely
    .selectFrom('sessions')
    .select('expires_ms')
    .where('id', '=', session)
    .where('identity_uid', '=', who.identity)
    .where(sql<boolean>`${sql.raw(validSessionSql('sessions'))}`)
    .executeTakeFirst()
  return row !== undefined && row.expires_ms > clock()
}
