import {
  type ExchangeRequest,
  SecurityTokenService,
} from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { ApiError, Code, unauthenticated, unavailable } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { parseUid, type Uid } from '../../api/uid.ts'
import { bearerToken } from '../../pipeline/authenticate.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import type { Log } from '../../runtime/log.ts'
import type { Store } from '../../storage/store.ts'
import type { AccessTokens } from '../access-token.ts'
import type { Condition } from '../trust/condition.ts'
import { evaluateUntilFailure } from '../trust/evaluate.ts'
import type { SubjectClaims } from '../trust/match.ts'
import { type Assumed, type AssumeOptions, assume } from './assume.ts'
import { intersectNarrowing, type Narrowing } from './narrowing.ts'
import { startProviderSession } from './provider-session.ts'
import { type RequestedToken, readTokenRequest, requireUsableLength } from './token-request.ts'

/**
 * The exchange: somebody shows a token of another issuer, or one of ours, and gets an access token of ours for the identity that it
 * lets them assume (assume/assume.ts).
 */

export interface ExchangeOptions extends AssumeOptions {
  readonly store: Store
  readonly tokens: AccessTokens
  readonly log: Pick<Log, 'debug'>
  /** Told who was proven, before a token is made; may reject. */
  readonly beforeIssue: (identity: string, call: Call) => Promise<void> | undefined
  /** Notes that the identity was used. */
  readonly markSeen: (uid: string) => void
  /** For the audit log: who got a token, and who was refused one for an identity that exists. */
  readonly audit: {
    exchanged(identity: string, claims: SubjectClaims, call: Call): void
    auditDenied(identity: string, refusal: RefusedExchange, call: Call): void
  }
}

export interface RefusedExchange {
  readonly code: Code
  readonly reason: string
  /** Of the token, once it was verified. */
  readonly claims: SubjectClaims | undefined
}

const RETRY_MS = 1000

export function securityTokenService(options: ExchangeOptions) {
  return implement(SecurityTokenService, {
    async exchange(request, call) {
      const token = bearerToken(call.authorizationHeader)
      const requested = readRequest(request, options.audiences)
      const assumed = await requireAssumed(token, requested, options, call)
      const { identity, claims } = assumed
      await options.beforeIssue(identity, call)
      const issued = await options.tokens.issue({
        identity,
        audiences: requested.audiences,
        actor: { iss: claims.issuer, sub: claims.subject, aud: claims.audience[0] ?? '' },
        ...(await tokenBounds(requested, assumed, options, call)),
      })
      requireUsableLength(issued.token)
      options.markSeen(identity)
      options.audit.exchanged(identity, claims, call)
      return {
        $typeName: 'chainguard.platform.oidc.RawToken' as const,
        token: issued.token,
        refreshToken: '',
        expiry: timestampOf(issued.expiresAtMs),
      }
    },
  })
}

interface ParsedRequest extends RequestedToken {
  readonly identity: Uid | undefined
  readonly identityProvider: Uid | undefined
}

function readRequest(request: ExchangeRequest, allowedAudiences: readonly string[]): ParsedRequest {
  const { identity, identityProvider } = request
  const requested = readTokenRequest(
    request,
    allowedAudiences,
    uidViolation('identity', identity),
    uidViolation('identity_provider', identityProvider),
  )
  return { ...requested, identity: parseUid(identity), identityProvider: parseUid(identityProvider) }
}

function uidViolation(field: string, text: string) {
  return text === '' || parseUid(text) !== undefined ? undefined : { field, description: 'must be a uid' }
}

/** Proves that the bearer of `token` may act as the identity. Throws code 7, 14 or 16. */
async function requireAssumed(
  token: string,
  { identity, identityProvider }: ParsedRequest,
  options: ExchangeOptions,
  call: Call,
): Promise<Assumed> {
  let found: Uid | undefined
  let verified: SubjectClaims | undefined
  const progress = {
    onIdentity(uid: Uid) {
      found = uid
    },
    onVerified(claims: SubjectClaims) {
      verified = claims
    },
  }
  const attempt = { token, identity, identityProvider, signal: call.signal }
  const outcome = await evaluateUntilFailure((check) => assume(attempt, options, check, progress))
  if (outcome.ok && outcome.value !== undefined) return outcome.value
  if (outcome.ok) throw new Error('an exchange ended without a condition that fails')
  const { failed } = outcome
  const refusal = refusalOf(failed)
  const { code } = refusal
  options.log.debug(
    { requestId: call.requestId, identity: found, why: failed.reason },
    'an exchange was refused',
  )
  if (found !== undefined && code !== Code.UNAVAILABLE) {
    const reason = code === Code.PERMISSION_DENIED ? failed.reason : refusal.message
    options.audit.auditDenied(found, { code, reason, claims: verified }, call)
  }
  throw refusal
}

/** One answer for every reason that has to do with the identity, so that nobody can find out which exist; the log knows why. */
function refusalOf({ fault, reason: why }: Condition): ApiError {
  switch (fault) {
    case 'token':
      return unauthenticated(why)
    case 'elsewhere':
      return unavailable(why, RETRY_MS)
    case 'identity':
      return new ApiError(
        Code.PERMISSION_DENIED,
        'Permission denied: the token may not assume this identity: it does not exist, or asks for another issuer, subject, audience or claim; `berth auth explain` tells those who may read the identity which',
        { cause: why },
      )
    default:
      return fault satisfies never
  }
}

/** What bounds the token: what was asked for, and the token or the provider that it comes of. */
async function tokenBounds(
  { scopes, capabilities }: ParsedRequest,
  assumed: Assumed,
  { store }: ExchangeOptions,
  call: Call,
) {
  const own = { scopes, capabilities }
  const { bounds, provider } = assumed
  if (provider !== undefined) {
    return { ...withoutUndefined(own), session: await startProviderSession(store, assumed, provider, call) }
  }
  if (bounds === undefined) return withoutUndefined(own)
  const { session, notAfterMs: endsMs } = bounds
  return {
    ...withoutUndefined(intersectNarrowing(own, bounds)),
    ...(session === undefined ? {} : { session }),
    notAfterMs: endsMs,
  }
}

function withoutUndefined({ scopes, capabilities }: Narrowing) {
  return {
    ...(scopes === undefined ? {} : { scopes }),
    ...(capabilities === undefined ? {} : { capabilities }),
  }
}
