import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

/**
 * The format of refresh tokens. Clients of the public SDK read the expiry, so a token is padded standard base64 of JSON with an integer
 * `exp`; the other members are internal. `secret` is the session's secret, whose hash is in the database, and an HMAC-SHA-256 of all members.
 * The HMAC distinguishes a used token from a forged one after the secret was replaced.
 */
export interface RefreshToken {
  /** `{auth_url}`. */
  readonly issuer: string
  /** uid of the identity. */
  readonly identity: string
  readonly audiences: readonly string[]
  readonly issuedAtMs: number
  readonly expiresMs: number
  /** Id of the session. */
  readonly session: string
  /** Identifies the session, until the token is used. */
  readonly secret: string
}

const SECOND_MS = 1000
const TOKEN_CHARS_MAX = 4096

/** Formats a token. `key`: the installation's key for secrets. */
export function writeRefreshToken(key: KeyObject, token: RefreshToken): string {
  const claims = {
    iss: token.issuer,
    sub: token.identity,
    aud: token.audiences.join(','),
    iat: Math.floor(token.issuedAtMs / SECOND_MS),
    exp: Math.floor(token.expiresMs / SECOND_MS),
    jti: token.session,
    secret: token.secret,
  }
  const code = createHmac('sha256', key)
    .update(`refresh token ${JSON.stringify(claims)}`)
    .digest('base64url')
  const text = JSON.stringify({ ...claims, secret: `${token.secret}.${code}` })
  return Buffer.from(text).toString('base64')
}

/** Parses a token that was written with this key, used or not; undefined for any other. */
export function readRefreshToken(key: KeyObject, token: string): RefreshToken | undefined {
  const claims = token.length > TOKEN_CHARS_MAX ? undefined : parseClaims(token)
  if (claims === undefined) return undefined
  // Only the canonical text is accepted.
  const expected = Buffer.from(writeRefreshToken(key, claims))
  const actual = Buffer.from(token)
  return actual.length === expected.length && timingSafeEqual(actual, expected) ? claims : undefined
}

function parseClaims(token: string): RefreshToken | undefined {
  let claims: unknown
  try {
    claims = JSON.parse(Buffer.from(token, 'base64').toString())
  } catch {
    return undefined
  }
  if (typeof claims !== 'object' || claims === null) return undefined
  const { iss, sub, aud, iat, exp, jti, secret } = claims as Record<string, unknown>
  const texts = [iss, sub, aud, jti, secret]
  if (!texts.every((text) => typeof text === 'string')) return undefined
  if (!Number.isSafeInteger(iat) || !Number.isSafeInteger(exp)) return undefined
  const [own = ''] = (secret as string).split('.')
  return {
    issuer: iss as string,
    identity: sub as string,
    audiences: (aud as string).split(','),
    issuedAtMs: (iat as number) * SECOND_MS,
    expiresMs: (exp as number) * SECOND_MS,
    session: jti as string,
    secret: own,
  }
}
