import { sql } from 'kysely'
import type { CapabilitySet } from '../core/capabilities.ts'
import { limits } from '../core/limits.ts'
import { type AuditEvent, recordEvent } from '../storage/audit-events.ts'
import { inTransaction, type Tx } from '../storage/db.ts'
import { sessionCounts } from '../storage/live-sessions.ts'
import { hashOf, newSecret } from '../storage/pending.ts'
import type { Store } from '../storage/store.ts'
import type { AccessTokens } from './access-token.ts'
import { type RefreshToken, readRefreshToken, writeRefreshToken } from './refresh-token.ts'
import { beginSession, endSessions, type SessionPlace, type SignedIn } from './sessions.ts'
import { refuseTooLong } from './token-request.ts'

/**
 * The session of a client that somebody let act for them: an access token of an hour, and a refresh token for further ones until
 * the session ends. A refresh token is good for one use, which gives the next one; of many uses at once one succeeds. A second use
 * means that two have it, and nobody knows which of them is the thief, so it ends the session for both (RFC 9700 section 4.14.2).
 */

export interface ClientSessions {
  readonly store: Pick<Store, 'db' | 'clock' | 'secretsKey'>
  readonly tokens: Pick<AccessTokens, 'issue'>
  /** `{auth_url}`. */
  readonly authUrl: string
}

export interface ClientTokensRequest {
  /** What the client calls itself. */
  readonly client: string
  /** What tokens of the session may be for. */
  readonly audiences: readonly string[]
  /** What this one is for; all of them, when nothing is given. */
  readonly tokenAudiences?: readonly string[]
  readonly place: SessionPlace
  /** uids of the groups that the token is narrowed to; none: wherever the identity is bound. */
  readonly scopes?: readonly string[]
  /** False: the client needs no refresh token. */
  readonly refreshToken?: boolean
}

export interface ClientTokens {
  readonly accessToken: string
  readonly expiresAtMs: number
  /** Undefined where there is none: the session then ends with its access token. */
  readonly refreshToken: string | undefined
  /** Id of the session. */
  readonly session: string
}

/**
 * Begins a client's session for somebody who signed in. There is no refresh token for a session with groups, since nobody could
 * tell whether the person is still in them, nor for a narrowed token, which the next one would go beyond.
 */
export async function issueClientTokens(
  { store, tokens, authUrl }: ClientSessions,
  who: SignedIn,
  request: ClientTokensRequest,
): Promise<ClientTokens> {
  const { client, audiences, tokenAudiences = audiences, place, scopes = [] } = request
  const renewable = (request.refreshToken ?? true) && who.groups.length === 0 && scopes.length === 0
  const lifetimeMs = renewable ? limits.clientSessionMs : limits.accessTokenLifetimeMs
  const session = await inTransaction(store.db, (tx) =>
    beginSession(store, tx, {
      ...who,
      ...place,
      kind: 'client',
      client,
      audiences,
      lifetimeMs,
    }),
  )
  const { identity } = who
  const { token, expiresAtMs } = await tokens.issue({
    identity,
    audiences: tokenAudiences,
    session: session.id,
    ...(scopes.length === 0 ? {} : { scopes }),
  })
  const { id, secret, expiresMs } = session
  const refreshToken = renewable
    ? writeRefreshToken(store.secretsKey, {
        issuer: authUrl,
        identity,
        audiences,
        // When the session began: its end is told in whole seconds of the same clock reading.
        issuedAtMs: expiresMs - lifetimeMs,
        expiresMs,
        session: id,
        secret,
      })
    : undefined
  return { accessToken: token, expiresAtMs, refreshToken, session: id }
}

/** What a refresh token says that was made here, used or not. */
export type GenuineRefreshToken = RefreshToken & { readonly genuine: true }

/** Undefined for a token that was not made here. Whether it can still be used is for `refreshClientTokens` to say. */
export function genuineRefreshToken(
  { store, authUrl }: Pick<ClientSessions, 'store' | 'authUrl'>,
  text: string,
): GenuineRefreshToken | undefined {
  const token = readRefreshToken(store.secretsKey, text)
  return token?.issuer === authUrl ? { ...token, genuine: true } : undefined
}

export interface RefreshRequest {
  /** Among those of the refresh token. */
  readonly audiences: readonly string[]
  readonly scopes?: readonly string[]
  readonly capabilities?: CapabilitySet
  /** Where it is used from. */
  readonly place: Pick<SessionPlace, 'address'> & Partial<SessionPlace>
  /** Full name of the method, for the audit log, and the request's id. */
  readonly method: string
  readonly requestId: string
}

export type Refreshed =
  | {
      readonly ok: true
      readonly tokens: ClientTokens & { readonly refreshToken: string; readonly refreshExpiresMs: number }
    }
  /** In words, for whoever has the token. */
  | { readonly ok: false; readonly reason: string }

/** The audit event of a session that ends because its refresh token came a second time. */
export const REUSE_METHOD = 'berth.sts/RefreshTokenReuse'

const ENDED = 'the session of this refresh token has ended; sign in again'

/**
 * Uses a refresh token up: its replacement and the audit record, or what ends the session, in one transaction. Throws code 3 for so
 * many scopes that nobody could use the token.
 */
export async function refreshClientTokens(
  { store, tokens, authUrl }: ClientSessions,
  token: GenuineRefreshToken,
  request: RefreshRequest,
): Promise<Refreshed> {
  const { db, clock, secretsKey } = store
  const { identity, session } = token
  if (token.expiresMs <= clock()) return { ok: false, reason: 'the refresh token has expired; sign in again' }
  const { place, method, requestId, ...asked } = request
  // Made before it is known whether it may be given, so that no failure in between takes the old refresh token without a new one.
  const access = await tokens.issue({ identity, session, ...asked })
  refuseTooLong(access.token)
  const secret = newSecret()
  const event = (name: string): AuditEvent => ({
    timeMs: clock(),
    actor: identity,
    method: name,
    uid: identity,
    requestId,
    address: place.address,
  })
  const outcome = await inTransaction(db, async (tx) => {
    if (await rotate(tx, token, secret, clock(), place)) {
      await recordEvent(tx, event(method))
      return 'rotated'
    }
    if (!(await endIfReplaced(tx, token))) return 'ended'
    await recordEvent(tx, event(REUSE_METHOD))
    return 'reused'
  })
  if (outcome === 'ended') return { ok: false, reason: ENDED }
  if (outcome === 'reused')
    return {
      ok: false,
      reason: 'the refresh token was used before, so its session has been ended; sign in again',
    }
  const refreshToken = writeRefreshToken(secretsKey, {
    ...token,
    issuer: authUrl,
    issuedAtMs: clock(),
    secret,
  })
  return {
    ok: true,
    tokens: {
      accessToken: access.token,
      expiresAtMs: access.expiresAtMs,
      refreshToken,
      refreshExpiresMs: token.expiresMs,
      session,
    },
  }
}

/** Ends the session of a refresh token, also of one that was used up (RFC 7009 section 2.1); false when it had ended before. */
export async function endClientSession(
  { db }: Pick<Store, 'db'>,
  { session }: GenuineRefreshToken,
): Promise<boolean> {
  return (await inTransaction(db, (tx) => endSessions(tx, 'id', session))) > 0
}

/** Replaces the secret in the one statement that also checks all there is to check; false when something does not hold. */
async function rotate(
  tx: Tx,
  { identity, session, secret }: GenuineRefreshToken,
  next: string,
  now: number,
  { address, userAgent }: RefreshRequest['place'],
): Promise<boolean> {
  const rotated = await tx
    .updateTable('sessions')
    .set({
      secret_hash: hashOf(next),
      last_used_ms: now,
      address,
      ...(userAgent === undefined ? {} : { user_agent: userAgent }),
    })
    .where('id', '=', session)
    .where('kind', '=', 'client')
    .where('identity_uid', '=', identity)
    .where('secret_hash', '=', hashOf(secret))
    .where('expires_ms', '>', now)
    .where(sql<boolean>`${sql.raw(sessionCounts('sessions'))}`)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('identities').select('uid').where('root', '=', identity).where('uid', '=', identity)),
    )
    .returning('id')
    .execute()
  return rotated.length > 0
}

/** Ends the session when its secret is another one by now. */
async function endIfReplaced(tx: Tx, { session, secret }: GenuineRefreshToken): Promise<boolean> {
  const replaced = await tx
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', session)
    .where('secret_hash', '<>', hashOf(secret))
    .execute()
  return replaced.length > 0 && (await endSessions(tx, 'id', session)) > 0
}
