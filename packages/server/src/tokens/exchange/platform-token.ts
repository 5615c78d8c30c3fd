import { parseUid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { ReadGrants } from '../../pipeline/authorization.ts'
import { ACCESS_TOKEN_TYPE, readBerthClaim } from '../access-token.ts'
import { ID_TOKEN_TYPE } from '../id-token.ts'
import { algorithmOfKey } from '../keys/signing-key-rows.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { CheckCondition } from '../trust/condition.ts'
import type { KeySource } from '../trust/key-set.ts'
import { identityCondition, oneOfDetail } from '../trust/match.ts'
import type { AssumeMethod } from './assume-method.ts'
import type { Narrowing } from './narrowing.ts'
import type { SubjectToken } from './subject-token.ts'

/**
 * Tokens of this server that are exchanged for new ones. The new token has the same bounds: groups and capabilities, the session with which
 * it ends, and the expiry, so that a stolen access token cannot be renewed.
 */
export interface TokenBounds extends Narrowing {
  /** Id of the session; undefined for tokens without one. */
  readonly session: string | undefined
  /** The new token expires no later than this. */
  readonly notAfterMs: number
}

export interface PlatformTokens {
  readonly keys: Pick<SigningKeys, 'byId'>
  /** Returns undefined if the identity or the session of a token no longer exists. */
  readonly readGrants: ReadGrants
  /** The token service and the API. A token for another audience only, such as the registry, cannot be exchanged. */
  readonly audiences: readonly string[]
}

/** The keys of this server, which are not fetched (R7). */
export function ownKeys({ keys }: PlatformTokens): KeySource {
  return {
    async find(alg, kid) {
      const key = kid === undefined ? undefined : await keys.byId(kid)
      return key === undefined || algorithmOfKey(key) !== alg ? { kind: 'unknown' } : { kind: 'found', key }
    },
  }
}

/** The method for a token of the identity itself: its bearer can get another one, which is no wider. */
export function ownIdentityMethod(issuer: string, uid: string): AssumeMethod {
  return {
    issuer: (actual) => identityCondition('issuer', actual === issuer, () => ({ expected: issuer, actual })),
    keys: undefined,
    claims: ({ subject }, check) => {
      check(identityCondition('subject', subject === uid, () => ({ expected: uid, actual: subject })))
    },
  }
}

/** Checks the further conditions of a token of this server, and returns its bounds. */
export async function checkPlatformToken(
  { header, claims }: SubjectToken,
  { readGrants, audiences }: PlatformTokens,
  check: CheckCondition,
): Promise<TokenBounds | undefined> {
  const identity = parseUid(claims.subject)
  const own = readBerthClaim(claims.payload['berth'])
  // Tokens for cloud accounts are signed with the same keys, but have no `typ`.
  const isOurs = header.typ === ACCESS_TOKEN_TYPE || header.typ === ID_TOKEN_TYPE
  const isReadable = isOurs && identity !== undefined && own !== undefined
  check({
    name: 'platform_token',
    holds: isReadable,
    fault: 'token',
    reason: 'the token is not an access token or ID token of this server',
    detail: () => ({ expected: 'an access token or ID token of this server', actual: '' }),
  })
  if (!isReadable) return undefined
  check({
    name: 'platform_audience',
    holds: claims.audience.some((audience) => audiences.includes(audience)),
    fault: 'token',
    reason: 'the token is for neither the token service nor the API, so it cannot be exchanged',
    detail: () => oneOfDetail(audiences, claims.audience, ''),
  })
  check({
    name: 'session',
    holds: (await readGrants({ identity, ...own })) !== undefined,
    fault: 'token',
    reason: 'the identity of the token no longer exists, or its session has ended',
    detail: () => ({ expected: 'an identity that exists and a session that has not ended', actual: '' }),
  })
  return { ...own, notAfterMs: notAfterOf(header, claims) }
}

/** The latest expiry of a new token. ID tokens prove a recent sign-in and are short-lived, so theirs is one hour after the sign-in. */
function notAfterOf(
  { typ }: SubjectToken['header'],
  { expiresAtMs, issuedAtMs }: SubjectToken['claims'],
): number {
  return typ === ID_TOKEN_TYPE && issuedAtMs !== undefined
    ? issuedAtMs + limits.accessTokenLifetimeMs
    : expiresAtMs
}
