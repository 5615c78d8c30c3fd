import { RelationshipType } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { nameShare } from '../../pipeline/request/request-context.ts'
import { whenReady } from '../../runtime/when-ready.ts'
import { createVersionCache } from '../../storage/cache/version-cache.ts'
import type { Db } from '../../storage/db.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { IdentityRow } from '../../storage/schema/tables.ts'
import type { IssuerKeys } from '../issuers/issuer-keys.ts'
import type { CheckCondition } from '../trust/condition.ts'
import type { KeySource } from '../trust/key-set.ts'
import type { SubjectClaims } from '../trust/match.ts'
import { relationshipOf } from '../trust/relationship.ts'
import type { AssumeMethod } from './assume-method.ts'
import {
  type AwsOptions,
  checkAwsCaller,
  checkAwsRequest,
  claimsOf,
  matchAwsCaller,
} from './aws/aws-identity.ts'
import { type AwsRequest, readAwsRequest } from './aws/aws-request.ts'
import { claimMatchMethod } from './claim-match.ts'
import { type OrganizationProvider, type People, personMethod } from './person.ts'
import {
  checkPlatformToken,
  ownIdentityMethod,
  ownKeys,
  type PlatformTokens,
  type TokenBounds,
} from './platform-token.ts'
import { staticKeysMethod } from './static-keys.ts'
import { checkSubjectToken, readSubjectToken, type SubjectToken } from './subject-token.ts'

/**
 * Decides whether the bearer of a token may assume an identity, condition by condition. The identity is read before the token is verified, so
 * that no keys are fetched from an issuer that it does not trust (R1). The exchange stops at the first condition that fails; the explain
 * method evaluates all conditions.
 */

export interface AssumeOptions {
  readonly db: Db
  readonly clock: () => number
  /** The published keys of an issuer. */
  readonly keysFor: IssuerKeys['keysFor']
  /** Audiences that can be requested: the API's address, the registry's host. */
  readonly audiences: readonly string[]
  /** The address of the token service. */
  readonly issuer: string
  /** All forms of `issuer`: the default audiences of workload tokens (R10). */
  readonly issuerForms: readonly string[]
  /** The default audience of workload tokens that are exchanged for a token of the registry alone. */
  readonly registryHost: string
  /** Issuers that issuer patterns may match; no keys are fetched from any other (R1). */
  readonly patternIssuers: readonly string[]
  readonly platform: PlatformTokens
  readonly people: People
  readonly aws: Omit<AwsOptions, 'clock' | 'audiences'>
}

/** The identity to assume, and the token. */
export interface AssumeRequest {
  readonly token: string
  /** Undefined: the identity of the token's user. */
  readonly identity: Uid | undefined
  /** uid of the organization's provider that issued the token; undefined for any other issuer. */
  readonly identityProvider: Uid | undefined
  /** Audiences of the requested token. */
  readonly audiences: readonly string[]
  readonly signal: AbortSignal | undefined
}

/** Receives facts about an attempt that can still fail. */
export interface AssumeObserver {
  /** The identity exists. */
  onIdentity(identity: Uid): void
  /** The claims are verified. */
  onVerified(claims: SubjectClaims): void
}

/** A successful attempt. */
export interface Assumed {
  readonly identity: Uid
  /** Claims of the subject token. */
  readonly claims: SubjectClaims
  /** Bounds of a subject token of this server. */
  readonly bounds: TokenBounds | undefined
  /** The organization's provider that issued the token. */
  readonly provider: OrganizationProvider | undefined
}

/** Evaluates an attempt; undefined if `check` continues after a failure that leaves nothing to evaluate. */
export async function assume(
  attempt: AssumeRequest,
  options: AssumeOptions,
  check: CheckCondition,
  observer: AssumeObserver,
): Promise<Assumed | undefined> {
  const { token } = attempt
  // Only a JWT has dots.
  const read = token.includes('.') ? readSubjectToken(token) : readAwsToken(token)
  check({
    name: 'form',
    holds: read.ok,
    fault: 'token',
    reason: read.ok ? '' : read.reason,
    detail: () => ({
      expected: 'a signed JWT, or a signed request to AWS in base64',
      actual: !read.ok ? '' : 'request' in read ? 'a signed request to AWS' : 'a signed JWT',
      ...(read.ok ? {} : { hint: read.reason }),
    }),
  })
  if (!read.ok) return undefined
  return 'request' in read
    ? assumeByAws(read.request, attempt, options, check, observer)
    : assumeByToken(read, attempt, options, check, observer)
}

function readAwsToken(token: string) {
  const request = readAwsRequest(token)
  if (!('problem' in request)) return { ok: true, request } as const
  const reason =
    request.problem === 'encoding'
      ? 'the token is neither a signed JWT nor a signed request to AWS in base64'
      : 'the signed request to AWS is not a valid HTTP/1.1 request without repeated headers and without a body'
  return { ok: false, reason } as const
}

async function assumeByAws(
  request: AwsRequest,
  { identity, signal }: AssumeRequest,
  options: AssumeOptions,
  check: CheckCondition,
  observer: AssumeObserver,
): Promise<Assumed | undefined> {
  const { clock, issuerForms } = options
  const aws = { ...options.aws, clock, audiences: issuerForms }
  const isForwardable = checkAwsRequest(request, identity, aws, check)
  const found = await requireIdentity(identity, options, check, observer)
  if (found === undefined) return undefined
  const { row, relationship } = found
  if (relationship.case !== 'awsIdentity') {
    checkRelationshipKind(relationship.case, false, check)
    return undefined
  }
  checkRelationshipKind(relationship.case, true, check)
  const caller = await checkAwsCaller(isForwardable ? request : undefined, row.root, aws, signal, check)
  const claims = caller && claimsOf(request, caller, aws)
  if (claims !== undefined) observer.onVerified(claims)
  matchAwsCaller(relationship.value, caller, check)
  return claims && { identity: row.uid as Uid, claims, bounds: undefined, provider: undefined }
}

async function assumeByToken(
  subject: SubjectToken,
  attempt: AssumeRequest,
  options: AssumeOptions,
  check: CheckCondition,
  observer: AssumeObserver,
): Promise<Assumed | undefined> {
  const { claims } = subject
  const { identityProvider } = attempt
  nameShare(attempt.identity ?? identityProvider ?? '')
  const provider =
    identityProvider === undefined ? undefined : await options.people.organizationProvider(identityProvider)
  const identity = attempt.identity ?? (await identityOfPerson(claims, attempt, provider, options))
  const found = await requireIdentity(identity, options, check, observer)
  if (found === undefined) return undefined
  const { row, relationship } = found
  const method = methodOf(
    row,
    relationship,
    claims,
    { requestedProvider: identityProvider, provider },
    { ...options, defaultAudiences: defaultAudiences(attempt, options) },
  )
  checkRelationshipKind(relationship.case, method !== undefined, check)
  if (method === undefined) return undefined

  const { clock } = options
  const isOwn = method.keys === undefined && claims.issuer === options.issuer
  if (check(method.issuer(claims.issuer))) {
    const keys = method.keys ?? (isOwn ? ownKeys(options.platform) : options.keysFor(claims.issuer, row.root))
    await checkSubjectToken(attempt.token, subject, { keys, clock }, check)
  } else {
    await checkSubjectToken(attempt.token, subject, { keys: noKeys, clock }, (condition) =>
      check(condition.name === 'time' ? condition : { ...condition, holds: undefined }),
    )
  }
  observer.onVerified(claims)
  checkAge(claims, relationship.case === 'staticKeys' ? undefined : clock(), check)
  const bounds = isOwn ? await checkPlatformToken(subject, options.platform, check) : undefined
  method.claims(claims, check)
  if (provider !== undefined) checkGroups(claims, provider, check)
  return { identity: row.uid as Uid, claims, bounds, provider }
}

/** For an issuer that the identity does not trust. */
const noKeys: KeySource = {
  find: async () => ({
    kind: 'invalid',
    reason: 'no keys are fetched: the identity does not trust the issuer',
  }),
}

/** The uid of a user's identity, if the token is of an identity provider of this server. */
async function identityOfPerson(
  { issuer, subject }: SubjectClaims,
  { identityProvider }: AssumeRequest,
  provider: OrganizationProvider | undefined,
  { people, issuer: ownIssuer }: AssumeOptions,
): Promise<string | undefined> {
  if (identityProvider === undefined && issuer === ownIssuer) return parseUid(subject)
  const providers =
    identityProvider === undefined ? people.operatorProviders : provider === undefined ? [] : [provider]
  return providers.some((one) => one.issuer === issuer) ? people.uidOf(issuer, subject) : undefined
}

async function requireIdentity(
  identity: string | undefined,
  { db }: AssumeOptions,
  check: CheckCondition,
  observer: AssumeObserver,
): Promise<StoredIdentity | undefined> {
  nameShare(identity ?? '')
  const found = identity === undefined ? undefined : await readIdentity(db, identity)
  check({
    name: 'exists',
    holds: found !== undefined,
    fault: 'identity',
    reason: 'the identity does not exist',
    detail: () => ({ expected: 'an identity that exists', actual: found?.row.uid ?? '' }),
  })
  if (found !== undefined) observer.onIdentity(found.row.uid as Uid)
  return found
}

type Relationship = ReturnType<typeof relationshipOf>

interface StoredIdentity {
  readonly row: IdentityRow
  readonly relationship: Relationship
}

const CACHED_IDENTITIES_MAX = 10_000
/** Of an identity without its relationship, which takes several times its encoded size. */
const ROW_BYTES = 2048
const RELATIONSHIP_FACTOR = 8

const cachedIdentities = createVersionCache<StoredIdentity | undefined>({
  max: CACHED_IDENTITIES_MAX,
  maxSize: limits.cachedIdentitiesBytesMax,
  sizeOf: (found, uid) =>
    ROW_BYTES + uid.length + RELATIONSHIP_FACTOR * (found?.row.relationship_data.length ?? 0),
  onlyRepeated: { roughSizeOf: () => ROW_BYTES },
})

/** Reads an identity; many workloads exchange their tokens for the same one. */
function readIdentity(db: Db, uid: string): StoredIdentity | undefined | Promise<StoredIdentity | undefined> {
  return cachedIdentities(db, uid, () =>
    whenReady(
      readResource(db, 'identities', uid),
      (row) => row && { row, relationship: relationshipOf(row.relationship_data) },
    ),
  )
}

/** The method with which a token could assume this identity; undefined if there is none. */
function methodOf(
  row: IdentityRow,
  relationship: Relationship,
  { issuer, subject }: SubjectClaims,
  providers: {
    readonly requestedProvider: Uid | undefined
    readonly provider: OrganizationProvider | undefined
  },
  options: AssumeOptions & { readonly defaultAudiences: readonly string[] },
): AssumeMethod | undefined {
  const { requestedProvider, provider } = providers
  if (requestedProvider !== undefined)
    return provider !== undefined && isPerson(row) ? personMethod(row, [provider]) : undefined
  if (issuer === options.issuer && subject === row.uid) return ownIdentityMethod(issuer, row.uid)
  switch (relationship.case) {
    case 'claimMatch':
      return claimMatchMethod(relationship.value, {
        defaultAudiences: issuer === options.issuer ? options.platform.audiences : options.defaultAudiences,
        patternIssuers: options.patternIssuers,
      })
    case 'staticKeys':
      return staticKeysMethod(relationship.value, {
        createdMs: row.created_ms,
        clock: options.clock,
        defaultAudiences: [...options.issuerForms, ...options.audiences],
      })
    case 'awsIdentity':
    case 'servicePrincipal':
      return undefined
    case undefined:
      return isPerson(row) ? personMethod(row, options.people.operatorProviders) : undefined
    default:
      return relationship satisfies never
  }
}

/** A workload token for the registry is accepted only in exchange for a token that nothing but the registry accepts. */
function defaultAudiences(
  { audiences }: AssumeRequest,
  { issuerForms, registryHost }: AssumeOptions,
): readonly string[] {
  const isForRegistry = audiences.every((audience) => audience === registryHost)
  return isForRegistry ? [...new Set([...issuerForms, registryHost])] : issuerForms
}

function isPerson({ relationship, issuer }: IdentityRow): boolean {
  return relationship === RelationshipType.UNSPECIFIED && issuer !== ''
}

const expectedCredentials: Readonly<Record<NonNullable<Relationship['case']>, string>> = {
  claimMatch: 'a token of the issuer that the identity names',
  staticKeys: 'a token that is signed with a key of the identity',
  awsIdentity: 'a signed request to AWS',
  servicePrincipal: 'a credential of a platform service, which cannot be used here',
}

function checkRelationshipKind(
  relationship: Relationship['case'],
  holds: boolean,
  check: CheckCondition,
): void {
  check({
    name: 'relationship',
    holds,
    fault: 'identity',
    reason: 'the identity cannot be assumed with this kind of token',
    detail: () => ({
      expected:
        relationship === undefined
          ? 'a token of the user whose identity it is'
          : expectedCredentials[relationship],
      actual: '',
    }),
  })
}

function checkGroups(
  { payload }: SubjectClaims,
  provider: OrganizationProvider,
  check: CheckCondition,
): void {
  check({
    name: 'groups',
    holds: provider.groupsOf(payload) !== undefined,
    fault: 'token',
    reason: 'the groups claim of the token is invalid or has too many values',
    detail: () => ({ expected: 'a list of strings, or no groups claim', actual: '' }),
  })
}

/** `now` is undefined for static keys: they have an expiry of their own, and may sign one long-lived token. */
function checkAge({ issuedAtMs }: SubjectClaims, now: number | undefined, check: CheckCondition): void {
  check({
    name: 'age',
    holds: now === undefined || issuedAtMs === undefined || now - issuedAtMs <= limits.subjectTokenAgeMsMax,
    fault: 'token',
    reason: 'the token was issued more than 24 hours ago',
    detail: () => ({ expected: 'issued at most 24 hours ago', actual: '', hint: 'get a new token' }),
  })
}
