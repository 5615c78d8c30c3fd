import { sql } from 'kysely'
import type { Store } from '../../storage/store.ts'
import { groupsOfSession, type Session, type SignedIn } from '../../tokens/sessions/sessions.ts'
import { validSessionSql } from '../../tokens/sessions/valid-sessions.ts'
import type { AuthorizationRequest } from './authorization-requests.ts'

/**
 * A user's consent that a client acts on their behalf, stored until the client fetches its tokens. It is valid no longer than the browser
 * session in which it was given: signing out or disabling the account revokes it (R12).
 */
export interface AuthorizationGrant
  extends Pick<AuthorizationRequest, 'client' | 'audiences' | 'idToken' | 'nonce'> {
  readonly who: SignedIn
  /** id of the browser's session. */
  readonly session: string
  /** When the user signed in. */
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

/** Reads the user of a session, for the session of a client. */
export async function readSessionUser(
  store: Pick<Store, 'db'>,
  { id, identity, method, voucher }: Session,
): Promise<SignedIn> {
  return { identity, method, voucher, groups: await groupsOfSession(store, id) }
}

/** Whether the session in which the grant was given is still valid. */
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
