import type { Identity } from '#gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { type ExchangeRequest, SecurityTokenService } from '#gen/chainguard/platform/oidc/sts_pb.js'
import { bearerToken } from '../auth/authenticate.ts'
import { type Call, implement } from '../core/call.ts'
import { ApiError, Code, unauthenticated, unavailable } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import { timestampOf } from '../core/message.ts'
import { parseUid, type Uid } from '../core/uid.ts'
import type { Log } from '../log.ts'
import type { Db } from '../storage/db.ts'
import { readResource } from '../storage/rows.ts'
import type { IdentityRow } from '../storage/tables.ts'
import type { KeySource } from '../trust/key-set.ts'
import { matchClaims, type SubjectClaims } from '../trust/match.ts'
import { compilePattern } from '../trust/patterns.ts'
import { relationshipOf, staticKeysExpireMs } from '../trust/relationship.ts'
import { staticKeySource } from '../trust/static-keys.ts'
import type { AccessTokens } from './access-token.ts'
import { readUnverified, verifySubjectToken } from './subject-token.ts'
import { type AskedToken, readTokenRequest, refuseTooLong } from './token-request.ts'

/**
 * The exchange: a workload shows its own OIDC token and gets an access token of ours for the identity that it may assume. The
 * identity is looked at first, so that nothing is fetched from an issuer that no identity trusts (R1); then the token is
 * verified with that issuer's keys; then every condition of the identity must hold.
 */

export interface ExchangeOptions {
  readonly db: Db
  readonly tokens: AccessTokens
  readonly clock: () => number
  /** The published keys of an issuer. */
  readonly keysFor: (issuer: string) => KeySource
  /** What `aud` may ask for: the API's address, the registry's host. */
  readonly audiences: readonly string[]
  /** Our own address: a workload's token is meant for it where the identity does not say otherwise (R10). */
  readonly issuer: string
  /** Issuers that identities with an issuer pattern may match; no other is ever asked for keys on their behalf (R1). */
  readonly patternIssuers: readonly string[]
  readonly log: Pick<Log, 'debug'>
  /** Told who was proven, before a token is made; may reject. */
  readonly proven: (identity: string, call: Call) => Promise<void> | undefined
  /** Notes that the identity was used. */
  readonly seen: (uid: string) => void
  /** For the audit log: who got a token, and who was refused one for an identity that exists. */
  readonly audit: {
    exchanged(identity: string, claims: SubjectClaims, call: Call): void
    refused(identity: string, refusal: RefusedExchange, call: Call): void
  }
}

export interface RefusedExchange {
  readonly code: Code
  readonly reason: string
  /** Of the token, once it was verified. */
  readonly claims: SubjectClaims | undefined
}

type Relationship = Identity['relationship']

const RETRY_MS = 1000

export function securityTokenService(options: ExchangeOptions) {
  return implement(SecurityTokenService, {
    async exchange(request, call) {
      const token = bearerToken(call.authorization)
      const asked = readRequest(request, options.audiences)
      const claims = await assume(token, asked.identity, options, call)
      await options.proven(asked.identity, call)
      const actor = { iss: claims.issuer, sub: claims.subject, aud: claims.audience[0] ?? '' }
      const issued = await options.tokens.issue({ ...asked, actor })
      refuseTooLong(issued.token)
      options.seen(asked.identity)
      options.audit.exchanged(asked.identity, claims, call)
      return {
        $typeName: 'chainguard.platform.oidc.RawToken' as const,
        token: issued.token,
        refreshToken: '',
        expiry: timestampOf(issued.expiresAtMs),
      }
    },
  })
}

interface Asked extends AskedToken {
  readonly identity: Uid
}

function readRequest(request: ExchangeRequest, allowedAudiences: readonly string[]): Asked {
  const identity = parseUid(request.identity)
  const asked = readTokenRequest(
    request,
    allowedAudiences,
    identity === undefined
      ? {
          field: 'identity',
          description: request.identity === '' ? 'must name the identity to assume' : 'must be a uid',
        }
      : undefined,
    request.identityProvider === ''
      ? undefined
      : {
          field: 'identity_provider',
          description: 'sign-in through identity providers is not offered here yet',
        },
  )
  return { ...asked, identity: identity as Uid }
}

/** One answer for every reason that has to do with the identity, so that nobody can find out which exist; the log knows why. */
function refused(identity: Uid, why: string, { log }: ExchangeOptions, call: Call): ApiError {
  log.debug({ requestId: call.requestId, identity, why }, 'an exchange was refused')
  return new ApiError(
    Code.PERMISSION_DENIED,
    'Permission denied: the token may not assume this identity: it does not exist, or asks for another issuer, subject, audience or claim',
    { cause: why },
  )
}

/** Proves that the bearer of `token` may act as the identity; returns who that is upstream. */
async function assume(
  token: string,
  identity: Uid,
  options: ExchangeOptions,
  call: Call,
): Promise<SubjectClaims> {
  const read = readUnverified(token)
  if (!read.ok) throw unauthenticated(read.reason)
  const row = await readResource(options.db, 'identities', identity)
  if (row === undefined) throw refused(identity, 'the identity does not exist', options, call)
  let claims: SubjectClaims | undefined
  const verified = (known: SubjectClaims) => {
    claims = known
  }
  try {
    return await prove({ token, issuer: read.issuer, row, verified }, options, call)
  } catch (error) {
    const { code, cause, message } = error as ApiError
    if (error instanceof ApiError && (code === Code.PERMISSION_DENIED || code === Code.UNAUTHENTICATED)) {
      options.audit.refused(
        identity,
        { code, reason: typeof cause === 'string' ? cause : message, claims },
        call,
      )
    }
    throw error
  }
}

interface Presented {
  readonly token: string
  /** As the token says, not yet verified. */
  readonly issuer: string
  readonly row: IdentityRow
  /** Told the claims as soon as they are known to be true. */
  readonly verified: (claims: SubjectClaims) => void
}

async function prove(
  { token, issuer, row, verified }: Presented,
  options: ExchangeOptions,
  call: Call,
): Promise<SubjectClaims> {
  const identity = row.uid as Uid
  const trust = trustOf(relationshipOf(row.relationship_data), row, options)
  if (trust === undefined || !trust.issuerMatches(issuer)) {
    throw refused(identity, 'the identity trusts another issuer', options, call)
  }
  const checked = await verifySubjectToken(token, { keys: trust.keys(issuer), clock: options.clock })
  if (!checked.ok) {
    throw checked.kind === 'unavailable'
      ? unavailable(checked.reason, RETRY_MS)
      : unauthenticated(checked.reason)
  }
  const { claims } = checked
  verified(claims)
  if (claims.issuedAtMs !== undefined && options.clock() - claims.issuedAtMs > limits.subjectTokenAgeMsMax) {
    throw unauthenticated('the token was issued more than 24 hours ago')
  }
  const mismatch = trust.mismatch(claims)
  if (mismatch !== undefined)
    throw refused(identity, `the identity asks for another ${mismatch}`, options, call)
  return claims
}

/** How a relationship is checked, step by step. */
interface Trust {
  /** Before anything is fetched. */
  issuerMatches(issuer: string): boolean
  keys(issuer: string): KeySource
  /** The field that does not hold. */
  mismatch(claims: SubjectClaims): string | undefined
}

function trustOf(relationship: Relationship, row: IdentityRow, options: ExchangeOptions): Trust | undefined {
  const ours = audienceForms(options.issuer)
  if (relationship.case === 'claimMatch') {
    const { value } = relationship
    return {
      issuerMatches: (issuer) => {
        if (value.iss.case === 'issuer') return value.iss.value === issuer
        if (value.iss.case !== 'issuerPattern' || !options.patternIssuers.includes(issuer)) return false
        const pattern = compilePattern(value.iss.value)
        return 'test' in pattern && pattern.test(issuer)
      },
      keys: options.keysFor,
      mismatch: (claims) =>
        matchClaims(value, claims, { defaultAudiences: ours, pattern: compilePattern })?.field,
    }
  }
  if (relationship.case === 'staticKeys') {
    const { value } = relationship
    const accepted = value.audiences.length > 0 ? value.audiences : [...ours, ...options.audiences]
    return {
      issuerMatches: (issuer) => value.issuer === issuer,
      keys: () => staticKeySource(value.issuerKeys),
      mismatch: (claims) => {
        if (staticKeysExpireMs(value, row.created_ms) <= options.clock()) return 'key'
        if (claims.subject !== value.subject) return 'subject'
        return claims.audience.some((audience) => accepted.includes(audience)) ? undefined : 'audience'
      },
    }
  }
  return undefined
}

/** The token service by its address and by its host: documented workloads use either. */
function audienceForms(issuer: string): readonly string[] {
  return [issuer, new URL(issuer).host]
}
