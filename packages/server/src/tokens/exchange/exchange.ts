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
 * The exchange: returns an access token for an identity that the bearer of a token may assume (assume.ts). The token is of another issuer or
 * of this server.
 */

export interface ExchangeOptions extends AssumeOptions {
  readonly store: Store
  readonly tokens: AccessTokens
  readonly log: Pick<Log, 'debug'>
  /** Called with the verified identity before a token is issued; may reject. */
  readonly beforeIssue: (identity: string, call: Call) => Promise<void> | undefined
  /** Records that the identity was used. */
  readonly markSeen: (uid: string) => void
  /** Records issued tokens, and denials for identities that exist, in the audit log. */
  readonly audit: {
    exchanged(identity: string, claims: SubjectClaims, call: Call): void
    auditDenied(identity: string, refusal: RefusedExchange, call: Call): void
  }
}

export interface RefusedExchange {
  readonly code: Code
  readonly reason: string
  /** Claims of the token, if it was verified. */
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

/** Checks that the bearer of `token` may assume the identity. Throws code 7, 14 or 16. */
async function requireAssumed(
  token: string,
  { identity, identityProvider, audiences }: ParsedRequest,
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
  const attempt = { token, identity, identityProvider, audiences, signal: call.signal }
  const outcome = await evaluateUntilFailure((check) => assume(attempt, options, check, progress))
  if (outcome.ok && outcome.value !== undefined) return outcome.value
  if (outcome.ok) throw new Error('an exchange ended without a condition that fails')
  const { failed } = outcome
  const refusal = refusalOf(failed)
  const { code } = refusal
  options.log.debug({ requestId: call.requestId, identity: found, why: failed.reason }, 'exchange denied')
  if (found !== undefined && code !== Code.UNAVAILABLE) {
    const reason = code === Code.PERMISSION_DENIED ? failed.reason : refusal.message
    options.audit.auditDenied(found, { code, reason, claims: verified }, call)
  }
  throw refusal
}

/** The same error for every condition of the identity, so that callers cannot find out which identities exist; the log has the reason. */
function refusalOf({ fault, reason }: Condition): ApiError {
  switch (fault) {
    case 'token':
      return unauthenticated(reason)
    case 'elsewhere':
      return unavailable(reason, RETRY_MS)
    case 'identity':
      return new ApiError(
        Code.PERMISSION_DENIED,
        'Permission denied: the token cannot assume this identity: it does not exist, or requires another issuer, subject, audience or claim; a caller who can read the identity gets the reason from `berth auth explain`',
        { cause: reason },
      )
    default:
      return fault satisfies never
  }
}

/** The bounds of the new token: those of the request, and of the subject token or its provider. */
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
  const { session, notAfterMs } = bounds
  return {
    ...withoutUndefined(intersectNarrowing(own, bounds)),
    ...(session === undefined ? {} : { session }),
    notAfterMs,
  }
}

function withoutUndefined({ scopes, capabilities }: Narrowing) {
  return {
    ...(scopes === undefined ? {} : { scopes }),
    ...(capabilities === undefined ? {} : { capabilities }),
  }
}
