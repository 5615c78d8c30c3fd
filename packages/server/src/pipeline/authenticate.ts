import { type ApiError, unauthenticated } from '../api/errors.ts'
import { limits } from '../config/limits.ts'
import { createGrowingCache } from '../runtime/caches/growing-cache.ts'
import type { Caller } from './call.ts'

/** Authenticates a request: verifies its bearer token. */

/** Verifies one of our own access tokens: signature, issuer, times. */
export type VerifyAccessToken = (token: string) => Promise<VerifiedToken | ApiError>

export interface VerifiedToken {
  readonly caller: Caller
  readonly audiences: readonly string[]
  readonly expiresAtMs: number
  /** Of the key that signed it. */
  readonly keyId: string
}

/** Rejects with code 16 for a missing, malformed, expired or foreign token, and for one for another audience (RFC 7519 section 4.1.3). */
export type Authenticate = (authorization: string | undefined) => Caller | Promise<Caller>

const BEARER = /^bearer +([A-Za-z0-9._~+/=-]+)$/i

export interface AuthenticatorOptions {
  readonly verify: VerifyAccessToken
  /** Whether the key that signed a cached token is still published. */
  readonly isKeyPublished: (keyId: string) => boolean
  readonly clock: () => number
}

/** `audiences`: a token must be for one of them; the first one is recommended to callers. */
export function createAuthenticator(
  { verify, isKeyPublished, clock }: AuthenticatorOptions,
  audiences: readonly string[],
): Authenticate {
  // Keyed by the whole header value (R9): no two tokens share an entry.
  const verified = createGrowingCache<Omit<VerifiedToken, 'audiences'>>(limits.verifiedTokensCachedMax, {
    sizeMax: limits.verifiedTokensCharsMax,
    sizeOf: (_, authorization) => authorization.length,
  })

  const check = async (authorization: string): Promise<Caller> => {
    const token = bearerToken(authorization)
    const result = await verify(token)
    if (result instanceof Error) throw result
    if (!result.audiences.some((audience) => audiences.includes(audience))) {
      throw unauthenticated(
        `the token is for another audience; request a token with the audience ${audiences[0]}`,
      )
    }
    const { caller, expiresAtMs, keyId } = result
    verified.set(authorization, { caller, expiresAtMs, keyId })
    return caller
  }

  return (authorization) => {
    if (authorization === undefined || authorization === '') {
      throw unauthenticated('this call needs a token; send it as Authorization: Bearer <token>')
    }
    const known = verified.get(authorization)
    if (known !== undefined && known.expiresAtMs > clock() && isKeyPublished(known.keyId)) return known.caller
    return check(authorization)
  }
}

/** The token of an Authorization header (RFC 6750 section 2.1). Throws code 16. */
export function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw unauthenticated('this call needs a token; send it as Authorization: Bearer <token>')
  }
  if (authorization.length > limits.bearerTokenCharsMax) throw unauthenticated('the token is too long')
  const token = BEARER.exec(authorization)?.[1]
  if (token === undefined) throw unauthenticated('the Authorization header must be: Bearer <token>')
  return token
}
