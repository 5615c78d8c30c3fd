import { randomUUID } from 'node:crypto'
import { type CapabilitySet, decodeCapabilitySet, encodeCapabilitySet } from '@berth/contract/capabilities.ts'
import { errors, jwtVerify } from 'jose'
import { unauthenticated } from '../api/errors.ts'
import { parseUid } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { VerifyAccessToken } from '../pipeline/authenticate.ts'
import type { Caller, RegistryScope } from '../pipeline/call.ts'
import { ID_TOKEN_TYPE } from './id-token.ts'
import { signJwt } from './jwt/sign-jwt.ts'
import { jwtProblem } from './jwt/strict-json.ts'
import { algorithmOfKey, signingAlgorithms } from './keys/signing-key-rows.ts'
import type { SigningKeys } from './keys/signing-keys.ts'

/**
 * Access tokens of this server: JWTs of one hour. They identify the caller and narrow its access, but never contain its permissions. `berth`
 * is the only private claim: `{ scopes?: uid[], cap?: encoded set, sid?: id of a session, adm?: true }`.
 */

export interface AccessTokenRequest {
  /** uid of the identity. */
  readonly identity: string
  readonly audiences: readonly string[]
  /** The token that was exchanged for this one (RFC 8693 section 4.1). */
  readonly actor?: { readonly iss: string; readonly sub: string; readonly aud: string }
  readonly scopes?: readonly string[]
  readonly capabilities?: CapabilitySet
  /** Id of the session with which the token ends. */
  readonly session?: string
  /** Marks a token that `berth admin` issues on the server. */
  readonly isFromServer?: true
  /** The token expires at this time, or earlier at its usual expiry. */
  readonly notAfterMs?: number
  /** Issues a registry token, which is valid only for these scopes. */
  readonly registryScopes?: readonly RegistryScope[]
}

export interface AccessTokens {
  issue(request: AccessTokenRequest): Promise<{ readonly token: string; readonly expiresAtMs: number }>
  readonly verify: VerifyAccessToken
  /** The same, also for an ID token: for methods that need only the identity. */
  readonly verifyAccessOrIdToken: VerifyAccessToken
  /** The same, also for a registry token: for the registry only. */
  readonly verifyRegistryToken: VerifyAccessToken
  /** Whether the key of a verified token is still published: it may have been withdrawn since. */
  readonly isKeyPublished: (keyId: string) => boolean
}

const SECOND_MS = 1000
/**
 * The `typ` of access tokens (RFC 9068 section 2.1). ID tokens and tokens for cloud accounts are signed with the same keys and can have the
 * same audience. Their `typ` differs, so that they are not accepted as access tokens.
 */
export const ACCESS_TOKEN_TYPE = 'at+jwt'
/** The `typ` of tokens that the registry's token endpoint issues. */
const REGISTRY_TOKEN_TYPE = 'registry+jwt'

/** `issuer`: the address of the token service, `{auth_url}`. */
export function accessTokens({
  keys,
  issuer,
  clock,
}: {
  readonly keys: SigningKeys
  readonly issuer: string
  readonly clock: () => number
}): AccessTokens {
  const verifyAs = async (types: readonly string[], token: string) => {
    const problem = jwtProblem(token)
    if (problem !== undefined) return unauthenticated(problem)
    try {
      const { payload, protectedHeader } = await jwtVerify(
        token,
        async ({ alg, kid }) => {
          // Only our own keys are used (R7), each with its own algorithm (R6); `jwk`, `jku` and `x5u` in a header are ignored.
          const key = typeof kid === 'string' ? await keys.byId(kid) : undefined
          if (key === undefined || algorithmOfKey(key) !== alg) throw new errors.JWKSNoMatchingKey()
          return key
        },
        {
          algorithms: [...signingAlgorithms],
          issuer,
          currentDate: new Date(clock()),
          requiredClaims: ['sub', 'aud', 'exp'],
        },
      )
      const { typ, kid = '' } = protectedHeader
      if (!types.includes(typ ?? ''))
        return unauthenticated(
          typ === ID_TOKEN_TYPE
            ? `an ID token is not an access token; exchange it at ${issuer}/sts/exchange`
            : 'the token was not issued by this server',
        )
      const identity = typeof payload.sub === 'string' ? parseUid(payload.sub) : undefined
      const audiences = [payload.aud].flat().filter((audience) => audience !== undefined)
      const own = readBerthClaim(payload['berth'])
      if (identity === undefined || own === undefined || payload.exp === undefined)
        return unauthenticated('the token was not issued by this server')
      const registryScopes = typ === REGISTRY_TOKEN_TYPE ? readRegistryScopes(payload['access']) : undefined
      const caller = { identity, ...own, ...(registryScopes && { registryScopes }) }
      return { caller, audiences, expiresAtMs: payload.exp * SECOND_MS, keyId: kid }
    } catch (error) {
      return refusal(error)
    }
  }

  return {
    async issue({ identity, audiences, actor, registryScopes, notAfterMs = Infinity, ...bounds }) {
      const { scopes, capabilities, session, isFromServer } = bounds
      const key = await keys.current()
      const [type, lifetimeMs] =
        registryScopes === undefined
          ? [ACCESS_TOKEN_TYPE, limits.accessTokenLifetimeMs]
          : [REGISTRY_TOKEN_TYPE, limits.registryTokenLifetimeMs]
      const issuedAt = Math.floor(clock() / SECOND_MS)
      const expiresAt = Math.min(issuedAt + lifetimeMs / SECOND_MS, Math.floor(notAfterMs / SECOND_MS))
      const own = {
        ...(scopes === undefined ? {} : { scopes }),
        ...(capabilities === undefined ? {} : { cap: encodeCapabilitySet(capabilities) }),
        ...(session === undefined ? {} : { sid: session }),
        ...(isFromServer === true && { adm: true }),
      }
      const token = await signJwt(key, type, {
        iss: issuer,
        sub: identity,
        // A single audience is a string, which some clients expect (RFC 7519 section 4.1.3 allows both).
        aud: audiences.length === 1 ? (audiences[0] as string) : [...audiences],
        iat: issuedAt,
        exp: expiresAt,
        jti: randomUUID(),
        ...(actor === undefined ? {} : { act: actor }),
        ...(registryScopes === undefined ? {} : { access: registryScopes }),
        ...(Object.keys(own).length === 0 ? {} : { berth: own }),
      })
      return { token, expiresAtMs: expiresAt * SECOND_MS }
    },

    verify: (token) => verifyAs([ACCESS_TOKEN_TYPE], token),
    verifyAccessOrIdToken: (token) => verifyAs([ACCESS_TOKEN_TYPE, ID_TOKEN_TYPE], token),
    verifyRegistryToken: (token) => verifyAs([ACCESS_TOKEN_TYPE, REGISTRY_TOKEN_TYPE], token),
    isKeyPublished: keys.isPublished,
  }
}

/** Reads the claim of Docker's token specification. An invalid claim grants no access. */
function readRegistryScopes(claim: unknown): RegistryScope[] {
  return Array.isArray(claim) && claim.every(isRegistryScope) ? claim : []
}

function isRegistryScope(entry: unknown): entry is RegistryScope {
  const { type, name, actions } = (entry ?? {}) as Readonly<Record<keyof RegistryScope, unknown>>
  return typeof type === 'string' && typeof name === 'string' && Array.isArray(actions)
}

/** Reads the `berth` claim; undefined if it is invalid, so that the token is rejected. */
export function readBerthClaim(claim: unknown): Omit<Caller, 'identity'> | undefined {
  if (claim === undefined) return { scopes: undefined, capabilities: undefined, session: undefined }
  if (typeof claim !== 'object' || claim === null) return undefined
  const { scopes, cap, sid, adm } = claim as Readonly<Record<'scopes' | 'cap' | 'sid' | 'adm', unknown>>
  const list = Array.isArray(scopes) ? scopes : undefined
  if (scopes !== undefined && !list?.every((scope) => typeof scope === 'string')) return undefined
  const capabilities = cap === undefined ? undefined : decodeCapabilitySet(cap)
  if (cap !== undefined && capabilities === undefined) return undefined
  if (sid !== undefined && typeof sid !== 'string') return undefined
  return {
    scopes: list as string[] | undefined,
    capabilities,
    session: sid,
    ...(adm === true && { isFromServer: true }),
  }
}

function refusal(error: unknown) {
  if (error instanceof errors.JWTExpired)
    return unauthenticated('the token has expired; get a new one', error)
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'iss') {
    return unauthenticated('the token is from another issuer', error)
  }
  if (error instanceof errors.JOSEError)
    return unauthenticated('the token was not issued by this server', error)
  throw error
}
