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
import { ALGORITHM } from './keys/signing-key-rows.ts'
import type { SigningKeys } from './keys/signing-keys.ts'

/**
 * Our own access tokens: JWTs of one hour. They say who the caller is and how the token narrows what it may do; what the caller
 * may do is never in them. `berth` is the one private claim: `{ scopes?: uid[], cap?: encoded set, sid?: id of a
 * session }`.
 */

export interface AccessTokenRequest {
  /** uid of the identity. */
  readonly identity: string
  readonly audiences: readonly string[]
  /** The token that was exchanged for this one (RFC 8693 section 4.1). */
  readonly actor?: { readonly iss: string; readonly sub: string; readonly aud: string }
  readonly scopes?: readonly string[]
  readonly capabilities?: CapabilitySet
  /** Id of the session that the token is to end with. */
  readonly session?: string
  /** It is valid no longer than this, nor longer than any. */
  readonly notAfterMs?: number
  /** Makes it one of the registry's, which opens these alone. */
  readonly registryScopes?: readonly RegistryScope[]
}

export interface AccessTokens {
  issue(request: AccessTokenRequest): Promise<{ readonly token: string; readonly expiresAtMs: number }>
  readonly verify: VerifyAccessToken
  /** The same, also for an ID token: where it only matters who somebody is. */
  readonly verifyAccessOrIdToken: VerifyAccessToken
  /** The same, also for a token of the registry's: for the registry alone. */
  readonly verifyRegistryToken: VerifyAccessToken
  /** Whether a token that was verified a moment ago still would be: its key may have been withdrawn. */
  readonly isKeyPublished: (keyId: string) => boolean
}

const SECOND_MS = 1000
/**
 * The `typ` of access tokens (RFC 9068 section 2.1). ID tokens and tokens for cloud accounts are signed with the same keys, may be for
 * the same audience, and have another one: they open nothing.
 */
export const ACCESS_TOKEN_TYPE = 'at+jwt'
/** The `typ` of tokens that the registry's token endpoint gives out. */
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
        async ({ kid }) => {
          // Keys come from our own set only (R7); `jwk`, `jku` and `x5u` in a header are never looked at.
          const key = typeof kid === 'string' ? await keys.byId(kid) : undefined
          if (key === undefined) throw new errors.JWKSNoMatchingKey()
          return key
        },
        {
          algorithms: [ALGORITHM],
          issuer,
          currentDate: new Date(clock()),
          requiredClaims: ['sub', 'aud', 'exp'],
        },
      )
      const { typ, kid = '' } = protectedHeader
      if (!types.includes(typ ?? ''))
        return unauthenticated(
          typ === ID_TOKEN_TYPE
            ? `an ID token says who signed in and opens nothing; exchange it at ${issuer}/sts/exchange`
            : 'the token is not one of this server',
        )
      const identity = typeof payload.sub === 'string' ? parseUid(payload.sub) : undefined
      const audiences = [payload.aud].flat().filter((audience) => audience !== undefined)
      const own = readBerthClaim(payload['berth'])
      if (identity === undefined || own === undefined || payload.exp === undefined)
        return unauthenticated('the token is not one of this server')
      const registryScopes = typ === REGISTRY_TOKEN_TYPE ? readRegistryScopes(payload['access']) : undefined
      const caller = { identity, ...own, ...(registryScopes && { registryScopes }) }
      return { caller, audiences, expiresAtMs: payload.exp * SECOND_MS, keyId: kid }
    } catch (error) {
      return refusal(error)
    }
  }

  return {
    async issue({ identity, audiences, actor, registryScopes, notAfterMs = Infinity, ...bounds }) {
      const { scopes, capabilities, session } = bounds
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
      }
      const token = await signJwt(key, type, {
        iss: issuer,
        sub: identity,
        // One audience is a string, as clients that read it as such expect (RFC 7519 section 4.1.3 allows both).
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

/** The claim of Docker's token specification. What cannot be read opens nothing. */
function readRegistryScopes(claim: unknown): RegistryScope[] {
  return Array.isArray(claim) && claim.every(isRegistryScope) ? claim : []
}

function isRegistryScope(entry: unknown): entry is RegistryScope {
  const { type, name, actions } = (entry ?? {}) as Readonly<Record<keyof RegistryScope, unknown>>
  return typeof type === 'string' && typeof name === 'string' && Array.isArray(actions)
}

/** Undefined for a claim that is not ours: what cannot be read must not widen. */
export function readBerthClaim(claim: unknown): Omit<Caller, 'identity'> | undefined {
  if (claim === undefined) return { scopes: undefined, capabilities: undefined, session: undefined }
  if (typeof claim !== 'object' || claim === null) return undefined
  const { scopes, cap, sid } = claim as Readonly<Record<'scopes' | 'cap' | 'sid', unknown>>
  const list = Array.isArray(scopes) ? scopes : undefined
  if (scopes !== undefined && !list?.every((scope) => typeof scope === 'string')) return undefined
  const capabilities = cap === undefined ? undefined : decodeCapabilitySet(cap)
  if (cap !== undefined && capabilities === undefined) return undefined
  if (sid !== undefined && typeof sid !== 'string') return undefined
  return { scopes: list as string[] | undefined, capabilities, session: sid }
}

function refusal(error: unknown) {
  if (error instanceof errors.JWTExpired)
    return unauthenticated('the token has expired; get a new one', error)
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'iss') {
    return unauthenticated('the token was issued by somebody else', error)
  }
  if (error instanceof errors.JOSEError) return unauthenticated('the token is not one of this server', error)
  throw error
}
