import { parseUid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { ReadGrants } from '../../iam/grants-reader.ts'
import { ACCESS_TOKEN_TYPE, readBerthClaim } from '../access-token.ts'
import { ID_TOKEN_TYPE } from '../id-token.ts'
import { ALGORITHM } from '../keys/signing-key-rows.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { CheckCondition } from '../trust/condition.ts'
import type { KeySource } from '../trust/key-set.ts'
import { identityCondition, oneOfDetail } from '../trust/match.ts'
import type { AssumeMethod } from './assume-method.ts'
import type { Narrowing } from './narrowing.ts'
import type { SubjectToken } from './subject-token.ts'

/**
 * Tokens of this server that are exchanged for further ones. Whatever bounds the token bounds what comes of it: groups and
 * capabilities, the session that it ends with, and its last hour, so that nobody who got hold of an access token can renew it.
 */
export interface TokenBounds extends Narrowing {
  /** Id of the session; undefined for tokens without one. */
  readonly session: string | undefined
  /** What comes of the token is valid no longer. */
  readonly notAfterMs: number
}

export interface PlatformTokens {
  readonly keys: Pick<SigningKeys, 'byId'>
  /** Whether the identity of a token is still there, and its session. */
  readonly readGrants: ReadGrants
  /** The token service and the API: a token that is only for somebody else, such as the registry, opens nothing here. */
  readonly audiences: readonly string[]
}

/** The keys of this server: nothing is fetched (R7). */
export function ownKeys({ keys }: PlatformTokens): KeySource {
  return {
    async find(alg, kid) {
      const key = alg === ALGORITHM && kid !== undefined ? await keys.byId(kid) : undefined
      return key === undefined ? { kind: 'unknown' } : { kind: 'found', key }
    },
  }
}

/** Whoever holds a token of an identity may have another one for it, no wider. */
export function ownIdentityMethod(issuer: string, uid: string): AssumeMethod {
  return {
    issuer: (actual) => identityCondition('issuer', actual === issuer, () => ({ expected: issuer, actual })),
    keys: undefined,
    claims: ({ subject }, check) => {
      check(identityCondition('subject', subject === uid, () => ({ expected: uid, actual: subject })))
    },
  }
}

/** What else must hold for a token that was signed here, and what bounds it. */
export async function checkPlatformToken(
  { header, claims }: SubjectToken,
  { readGrants, audiences }: PlatformTokens,
  check: CheckCondition,
): Promise<TokenBounds | undefined> {
  const identity = parseUid(claims.subject)
  const own = readBerthClaim(claims.payload['berth'])
  // Not our tokens for cloud accounts, which are signed with the same keys.
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
    reason: 'the identity of the token does not exist any more, or its session has ended',
    detail: () => ({ expected: 'an identity that exists and a session that has not ended', actual: '' }),
  })
  return { ...own, notAfterMs: notAfterOf(header, claims) }
}

/** ID tokens are proof of a sign-in a moment ago and short-lived; what comes of them has the hour that a sign-in gives. */
function notAfterOf(
  { typ }: SubjectToken['header'],
  { expiresAtMs, issuedAtMs }: SubjectToken['claims'],
): number {
  return typ === ID_TOKEN_TYPE && issuedAtMs !== undefined
    ? issuedAtMs + limits.accessTokenLifetimeMs
    : expiresAtMs
}
