import { RelationshipType } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Db } from '../../storage/db.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { IdentityRow } from '../../storage/schema/tables.ts'
import type { IssuerKeys } from '../issuers/issuer-keys.ts'
import type { CheckCondition } from '../trust/condition.ts'
import type { KeySource } from '../trust/key-set.ts'
import type { SubjectClaims } from '../trust/match.ts'
import { relationshipOf } from '../trust/relationship.ts'
import type { AssumeMethod } from './assume-method.ts'
import { type AwsOptions, checkAwsCaller, checkAwsRequest, claimsOf, matchAwsCaller } from './aws/aws-identity.ts'
import { type AwsRequest, readAwsRequest } from './aws/aws-request.ts'
import { claimMatchMethod } from './claim-match.ts'
import { type OrganizationProvider, type People, personMethod } from './person.ts'
import { checkPlatformToken, ownIdentityMethod, ownKeys, type PlatformTokens, type TokenBounds } from './platform-token.ts'
import { staticKeysMethod } from './static-keys.ts'
import { checkSubjectToken, readSubjectToken, type SubjectToken } from './subject-token.ts'

/**
 * Whether somebody who shows a token may assume an identity, condition by condition. The identity is looked at before the token is
 * verified, so that nothing is fetched from an issuer that it does not trust (R1). Whoever asks is the judge: the exchange stops at
 * the first condition that does not hold, and explaining hears all that can be said.
 */

export interface AssumeOptions {
  readonly db: Db
  readonly clock: () => number
  /** The published keys of an issuer. */
  readonly keysFor: IssuerKeys['keysFor']
  /** What `aud` may ask for: the API's address, the registry's host. */
  readonly audiences: readonly string[]
  /** Our own address. */
  readonly issuer: string
  /** It in every form: a workload's token is meant for it where the identity does not say otherwise (R10). */
  readonly issuerForms: readonly string[]
  /** Issuers that identities with an issuer pattern may match; no other is ever asked for keys on their behalf (R1). */
  readonly patternIssuers: readonly string[]
  readonly platform: PlatformTokens
  readonly people: People
  readonly aws: Omit<AwsOptions, 'clock' | 'audiences'>
}

/** What is to be assumed with which token. */
export interface AssumeRequest {
  readonly token: string
  /** Undefined: that of the person whom the token stands for. */
  readonly identity: Uid | undefined
  /** uid of the organization's provider that the token comes from; undefined for all others. */
  readonly identityProvider: Uid | undefined
  readonly signal: AbortSignal | undefined
}

/** Told what is known of an attempt that may yet fail. */
export interface AssumeObserver {
  /** The identity that it is about, which exists. */
  onIdentity(identity: Uid): void
  /** What the token says, which is true. */
  onVerified(claims: SubjectClaims): void
}

/** An attempt of which every condition holds. */
export interface Assumed {
  readonly identity: Uid
  /** Who that is upstream. */
  readonly claims: SubjectClaims
  /** Of a token of this server that was shown. */
  readonly bounds: TokenBounds | undefined
  /** Of a person who came through it. */
  readonly provider: OrganizationProvider | undefined
}

/** Undefined where a judge who goes on hears that there is nothing more to look at. */
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
      : 'the signed request to AWS is not a proper HTTP/1.1 request with each header once and no body'
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
  const row = await requireIdentity(identity, options, check, observer)
  if (row === undefined) return undefined
  const relationship = relationshipOf(row.relationship_data)
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
  const provider =
    identityProvider === undefined ? undefined : await options.people.organizationProvider(identityProvider)
  const identity = attempt.identity ?? (await identityOfPerson(claims, attempt, provider, options))
  const row = await requireIdentity(identity, options, check, observer)
  if (row === undefined) return undefined
  const relationship = relationshipOf(row.relationship_data)
  const method = methodOf(
    row,
    relationship,
    claims,
    { requestedProvider: identityProvider, provider },
    options,
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

/** Where a token is not trusted enough to ask its issuer. */
const noKeys: KeySource = {
  find: async () => ({
    kind: 'invalid',
    reason: 'no keys are asked for: the identity does not trust the issuer',
  }),
}

/** The identity of the person whom a token stands for, if it is one of a provider that people sign in with. */
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
): Promise<IdentityRow | undefined> {
  const row = identity === undefined ? undefined : await readResource(db, 'identities', identity)
  check({
    name: 'exists',
    holds: row !== undefined,
    fault: 'identity',
    reason: 'the identity does not exist',
    detail: () => ({ expected: 'an identity that exists', actual: row?.uid ?? '' }),
  })
  if (row !== undefined) observer.onIdentity(row.uid as Uid)
  return row
}

type Relationship = ReturnType<typeof relationshipOf>

/** How this token could open this identity; undefined when there is no way. */
function methodOf(
  row: IdentityRow,
  relationship: Relationship,
  { issuer, subject }: SubjectClaims,
  through: {
    readonly requestedProvider: Uid | undefined
    readonly provider: OrganizationProvider | undefined
  },
  options: AssumeOptions,
): AssumeMethod | undefined {
  const { requestedProvider, provider } = through
  if (requestedProvider !== undefined)
    return provider !== undefined && isPerson(row) ? personMethod(row, [provider]) : undefined
  if (issuer === options.issuer && subject === row.uid) return ownIdentityMethod(issuer, row.uid)
  switch (relationship.case) {
    case 'claimMatch':
      return claimMatchMethod(relationship.value, {
        defaultAudiences: issuer === options.issuer ? options.platform.audiences : options.issuerForms,
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

function isPerson({ relationship, issuer }: IdentityRow): boolean {
  return relationship === RelationshipType.UNSPECIFIED && issuer !== ''
}

const expectedCredentials: Readonly<Record<NonNullable<Relationship['case']>, string>> = {
  claimMatch: 'a token of the issuer that the identity names',
  staticKeys: 'a token that is signed with a key of the identity',
  awsIdentity: 'a signed request to AWS',
  servicePrincipal: 'proof that a service of the platform has, which nobody can show here',
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
    reason: 'the identity is assumed in another way than with such a token',
    detail: () => ({
      expected:
        relationship === undefined
          ? 'a token of the person whose identity it is'
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
    reason: 'the groups that the token names cannot be read, or are too many',
    detail: () => ({ expected: 'a list of names, or none', actual: '' }),
  })
}

/** `now` is undefined for keys that are stored with an identity: they have an end of their own, and sign one token once for all. */
function checkAge({ issuedAtMs }: SubjectClaims, now: number | undefined, check: CheckCondition): void {
  check({
    name: 'age',
    holds: now === undefined || issuedAtMs === undefined || now - issuedAtMs <= limits.subjectTokenAgeMsMax,
    fault: 'token',
    reason: 'the token was issued more than 24 hours ago',
    detail: () => ({ expected: 'issued at most 24 hours ago', actual: '', hint: 'get a new one' }),
  })
}
