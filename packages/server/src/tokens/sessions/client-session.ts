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
  readonly clientInfo: SessionClientInfo
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
export type VerifiedRefreshToken = RefreshToken & { readonly verified: true }

/** Undefined for a token that was not made here. Whether it can still be used is for `refreshClientTokens` to say. */
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
  /** Where it is used from. */
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
  /** In words, for whoever has the token. */
  | { readonly ok: false; readonly reason: string }

/** The audit event of a session that ends because its refresh token came a second time. */
export const REUSE_METHOD = 'berth.sts/RefreshTokenReuse'

const SESSION_ENDED = 'the session of this refresh token has ended; sign in again'

/**
 * Uses a refresh token up: its replacement and the audit record, or what ends the session, in one transaction. Throws code 3 for so
 * many scopes that nobody could use the token.
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
  // Made before it is known whether it may be given, so that no failure in between takes the old refresh token without a new one.
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
  { session }: VerifiedRefreshToken,
): Promise<boolean> {
  return (await inTransaction(db, (tx) => endSessions(tx, 'id', session))) > 0
}

/** Replaces the secret in the one statement that also checks all there is to check; false when something does not hold. */
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
    .where(sql<boolean>`${sql.raw(validSessionSql('sessions'))}`)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('identities').select('uid').where('root', '=', identity).where('uid', '=', identity)),
    )
    .returning('id')
    .execute()
  return rotated.length > 0
}

/** Ends the session when its secret is another one by now. */
async function endSessionIfReused(tx: Tx, { session, secret }: VerifiedRefreshToken): Promise<boolean> {
  const replaced = await tx
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', session)
    .where('secret_hash', '<>', hashSecret(secret))
    .execute()
  return replaced.length > 0 && (await endSessions(tx, 'id', session)) > 0
}
