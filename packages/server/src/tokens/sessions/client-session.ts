import type { CapabilitySet } from '@berth/contract/capabilities.ts'
import { sql } from 'kysely'
import { limits } from '../../config/limits.ts'
import { type AuditEvent, recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import { generateSecret, hashSecret } from '../../storage/pending-store.ts'
import type { Store } from '../../storage/store.ts'
import type { AccessTokens } from '../access-token.ts'
import { requireUsableLength } from '../exchange/token-request.ts'
import { type RefreshToken, readRefreshToken, writeRefreshToken } from '../refresh/refresh-token.ts'
import { endSessions, type SessionClientInfo, type SignedIn, startSession } from './sessions.ts'
import { validSessionSql } from './valid-sessions.ts'

/**
 * Sessions of clients that act on a user's behalf: an access token of one hour, and a refresh token for further ones until the session ends.
 * A refresh token can be used once, which returns the next one; of concurrent uses one succeeds. A second use means that the token was
 * stolen, so it ends the session (RFC 9700 section 4.14.2).
 */

export interface ClientSessions {
  readonly store: Pick<Store, 'db' | 'clock' | 'secretsKey'>
  readonly tokens: Pick<AccessTokens, 'issue'>
  /** `{auth_url}`. */
  readonly authUrl: string
}

export interface ClientTokensRequest {
  /** Name of the client, possibly unverified. */
  readonly client: string
  /** Audiences that tokens of the session may have. */
  readonly audiences: readonly string[]
  /** Audiences of this token. Default: all audiences of the session. */
  readonly tokenAudiences?: readonly string[]
  readonly clientInfo: SessionClientInfo
  /** uids of the groups that the token is narrowed to; empty: not narrowed. */
  readonly scopes?: readonly string[]
  /** Whether the client needs a refresh token. Default true. */
  readonly refreshToken?: boolean
}

export interface ClientTokens {
  readonly accessToken: string
  readonly expiresAtMs: number
  /** Undefined for none: then the session ends with its access token. */
  readonly refreshToken: string | undefined
  /** Id of the session. */
  readonly session: string
}

/**
 * Starts a client's session for an authenticated user. A session with groups gets no refresh token, because it is unknown whether the user is
 * still in them. Nor does a narrowed token, because the next one would be wider.
 */
export async function issueClientTokens(
  { store, tokens, authUrl }: ClientSessions,
  signedIn: SignedIn,
  request: ClientTokensRequest,
): Promise<ClientTokens> {
  const { client, audiences, tokenAudiences = audiences, clientInfo, scopes = [] } = request
  const renewable = (request.refreshToken ?? true) && signedIn.groups.length === 0 && scopes.length === 0
  const lifetimeMs = renewable ? limits.clientSessionMs : limits.accessTokenLifetimeMs
  const session = await inTransaction(store.db, (tx) =>
    startSession(store, tx, {
      ...signedIn,
      ...clientInfo,
      kind: 'client',
      client,
      audiences,
      lifetimeMs,
    }),
  )
  const { identity } = signedIn
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
        // The start of the session, so that both times are of the same clock reading.
        issuedAtMs: expiresMs - lifetimeMs,
        expiresMs,
        session: id,
        secret,
      })
    : undefined
  return { accessToken: token, expiresAtMs, refreshToken, session: id }
}

/** A genuine refresh token of this server, used or not. */
export type VerifiedRefreshToken = RefreshToken & { readonly verified: true }

/** Verifies a refresh token; undefined if it is not of this server. `refreshClientTokens` checks whether it can still be used. */
export function verifyRefreshToken(
  { store, authUrl }: Pick<ClientSessions, 'store' | 'authUrl'>,
  text: string,
): VerifiedRefreshToken | undefined {
  const token = readRefreshToken(store.secretsKey, text)
  return token?.issuer === authUrl ? { ...token, verified: true } : undefined
}

export interface RefreshRequest {
  /** Among those of the refresh token. */
  readonly audiences: readonly string[]
  readonly scopes?: readonly string[]
  readonly capabilities?: CapabilitySet
  /** The client that uses the token. */
  readonly clientInfo: Pick<SessionClientInfo, 'address'> & Partial<SessionClientInfo>
  /** Full name of the method, for the audit log, and the request's id. */
  readonly method: string
  readonly requestId: string
}

export type RefreshResult =
  | {
      readonly ok: true
      readonly tokens: ClientTokens & { readonly refreshToken: string; readonly refreshExpiresMs: number }
    }
  /** Text for the client. */
  | { readonly ok: false; readonly reason: string }

/** The audit event of a session that ends because its refresh token was used twice. */
export const REUSE_METHOD = 'berth.sts/RefreshTokenReuse'

const SESSION_ENDED = 'the session of this refresh token has ended; sign in again'

/**
 * Uses a refresh token: replaces it and records the audit event, or ends the session, in one transaction. Throws code 3 if the access token
 * would be too long because of its scopes.
 */
export async function refreshClientTokens(
  { store, tokens, authUrl }: ClientSessions,
  token: VerifiedRefreshToken,
  request: RefreshRequest,
): Promise<RefreshResult> {
  const { db, clock, secretsKey } = store
  const { identity, session } = token
  if (token.expiresMs <= clock()) return { ok: false, reason: 'the refresh token has expired; sign in again' }
  const { clientInfo, method, requestId, ...requested } = request
  // Issued before the transaction, so that a failure does not use up the old refresh token without returning a new one.
  const access = await tokens.issue({ identity, session, ...requested })
  requireUsableLength(access.token)
  const secret = generateSecret()
  const event = (name: string): AuditEvent => ({
    timeMs: clock(),
    actor: identity,
    method: name,
    uid: identity,
    requestId,
    address: clientInfo.address,
  })
  const outcome = await inTransaction(db, async (tx) => {
    if (await rotateSecret(tx, token, secret, clock(), clientInfo)) {
      await recordEvent(tx, event(method))
      return 'rotated'
    }
    if (!(await endSessionIfReused(tx, token))) return 'ended'
    await recordEvent(tx, event(REUSE_METHOD))
    return 'reused'
  })
  if (outcome === 'ended') return { ok: false, reason: SESSION_ENDED }
  if (outcome === 'reused')
    return {
      ok: false,
      reason: 'the refresh token was already used, so its session was ended; sign in again',
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

/** Ends the session of a refresh token, also of a used one (RFC 7009 section 2.1); false if it had already ended. */
export async function endClientSession(
  { db }: Pick<Store, 'db'>,
  { session }: VerifiedRefreshToken,
): Promise<boolean> {
  return (await inTransaction(db, (tx) => endSessions(tx, 'id', session))) > 0
}

/** Replaces the secret in one statement that also checks all conditions; false if one fails. */
async function rotateSecret(
  tx: Tx,
  { identity, session, secret }: VerifiedRefreshToken,
  next: string,
  now: number,
  { address, userAgent }: RefreshRequest['clientInfo'],
): Promise<boolean> {
  const rotated = await tx
    .updateTable('sessions')
    .set({
      secret_hash: hashSecret(next),
      last_used_ms: now,
      address,
      ...(userAgent === undefined ? {} : { user_agent: userAgent }),
    })
    .where('id', '=', session)
    .where('kind', '=', 'client')
    .where('identity_uid', '=', identity)
    .where('secret_hash', '=', hashSecret(secret))
    .where('expires_ms', '>', now)
    .where('id', 'in', (row) =>
      row
        .selectFrom('sessions as s')
        .select('s.id')
        .where('s.id', '=', session)
        .where(sql<boolean>`${sql.raw(validSessionSql('s'))}`),
    )
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('identities').select('uid').where('root', '=', identity).where('uid', '=', identity)),
    )
    .returning('id')
    .execute()
  return rotated.length > 0
}

/** Ends the session if its secret was replaced since. */
async function endSessionIfReused(tx: Tx, { session, secret }: VerifiedRefreshToken): Promise<boolean> {
  const replaced = await tx
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', session)
    .where('secret_hash', '<>', hashSecret(secret))
    .execute()
  return replaced.length > 0 && (await endSessions(tx, 'id', session)) > 0
}
