import { RelationshipType } from '#gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { limits } from '../../core/limits.ts'
import { parseUid, type Uid } from '../../core/uid.ts'
import type { Db } from '../../storage/db.ts'
import { readResource } from '../../storage/rows.ts'
import type { IdentityRow } from '../../storage/tables.ts'
import type { Judge } from '../../trust/condition.ts'
import type { KeySource } from '../../trust/key-set.ts'
import type { SubjectClaims } from '../../trust/match.ts'
import { relationshipOf } from '../../trust/relationship.ts'
import type { IssuerKeys } from '../issuer-keys.ts'
import { checkSubjectToken, readSubjectToken, type SubjectToken } from '../subject-token.ts'
import { type AwsOptions, checkAwsCaller, checkAwsRequest, claimsOf, matchAwsCaller } from './aws.ts'
import { type AwsRequest, readAwsRequest } from './aws-request.ts'
import { claimMatchWay } from './claim-match.ts'
import { type OrganizationProvider, type People, personWay } from './person.ts'
import {
  type Bounds,
  checkPlatformToken,
  ownIdentityWay,
  ownKeys,
  type PlatformTokens,
} from './platform-token.ts'
import { staticKeysWay } from './static-keys.ts'
import type { Way } from './way.ts'

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
export interface Attempt {
  readonly token: string
  /** Undefined: that of the person whom the token stands for. */
  readonly identity: Uid | undefined
  /** uid of the organization's provider that the token comes from; undefined for all others. */
  readonly identityProvider: Uid | undefined
  readonly signal: AbortSignal | undefined
}

/** Told what is known of an attempt that may yet fail. */
export interface Progress {
  /** The identity that it is about, which exists. */
  found(identity: Uid): void
  /** What the token says, which is true. */
  verified(claims: SubjectClaims): void
}

/** An attempt of which every condition holds. */
export interface Assumed {
  readonly identity: Uid
  /** Who that is upstream. */
  readonly claims: SubjectClaims
  /** Of a token of this server that was shown. */
  readonly bounds: Bounds | undefined
  /** Of a person who came through it. */
  readonly provider: OrganizationProvider | undefined
}

/** Undefined where a judge who goes on hears that there is nothing more to look at. */
export async function assume(
  attempt: Attempt,
  options: AssumeOptions,
  judge: Judge,
  progress: Progress,
): Promise<Assumed | undefined> {
  const { token } = attempt
  // Only a JWT has dots.
  const read = token.includes('.') ? readSubjectToken(token) : readAwsToken(token)
  judge({
    name: 'form',
    holds: read.ok,
    fault: 'token',
    why: read.ok ? '' : read.reason,
    detail: () => ({
      expected: 'a signed JWT, or a signed request to AWS in base64',
      actual: !read.ok ? '' : 'request' in read ? 'a signed request to AWS' : 'a signed JWT',
      ...(read.ok ? {} : { hint: read.reason }),
    }),
  })
  if (!read.ok) return undefined
  return 'request' in read
    ? assumeByAws(read.request, attempt, options, judge, progress)
    : assumeByToken(read, attempt, options, judge, progress)
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
  { identity, signal }: Attempt,
  options: AssumeOptions,
  judge: Judge,
  progress: Progress,
): Promise<Assumed | undefined> {
  const { clock, issuerForms } = options
  const aws = { ...options.aws, clock, audiences: issuerForms }
  const mayBeSent = checkAwsRequest(request, identity, aws, judge)
  const row = await existing(identity, options, judge, progress)
  if (row === undefined) return undefined
  const relationship = relationshipOf(row.relationship_data)
  if (relationship.case !== 'awsIdentity') {
    judgeRelationship(relationship.case, false, judge)
    return undefined
  }
  judgeRelationship(relationship.case, true, judge)
  const caller = await checkAwsCaller(mayBeSent ? request : undefined, row.root, aws, signal, judge)
  const claims = caller && claimsOf(request, caller, aws)
  if (claims !== undefined) progress.verified(claims)
  matchAwsCaller(relationship.value, caller, judge)
  return claims && { identity: row.uid as Uid, claims, bounds: undefined, provider: undefined }
}

async function assumeByToken(
  subject: SubjectToken,
  attempt: Attempt,
  options: AssumeOptions,
  judge: Judge,
  progress: Progress,
): Promise<Assumed | undefined> {
  const { claims } = subject
  const { identityProvider } = attempt
  const provider =
    identityProvider === undefined ? undefined : await options.people.organizationProvider(identityProvider)
  const identity = attempt.identity ?? (await identityOfPerson(claims, attempt, provider, options))
  const row = await existing(identity, options, judge, progress)
  if (row === undefined) return undefined
  const relationship = relationshipOf(row.relationship_data)
  const way = wayOf(row, relationship, claims, { asked: identityProvider, provider }, options)
  judgeRelationship(relationship.case, way !== undefined, judge)
  if (way === undefined) return undefined

  const { clock } = options
  const isOwn = way.keys === undefined && claims.issuer === options.issuer
  if (judge(way.issuer(claims.issuer))) {
    const keys = way.keys ?? (isOwn ? ownKeys(options.platform) : options.keysFor(claims.issuer, row.root))
    await checkSubjectToken(attempt.token, subject, { keys, clock }, judge)
  } else {
    await checkSubjectToken(attempt.token, subject, { keys: nobody, clock }, (condition) =>
      judge(condition.name === 'time' ? condition : { ...condition, holds: undefined }),
    )
  }
  progress.verified(claims)
  judgeAge(claims, relationship.case === 'staticKeys' ? undefined : clock(), judge)
  const bounds = isOwn ? await checkPlatformToken(subject, options.platform, judge) : undefined
  way.claims(claims, judge)
  if (provider !== undefined) judgeGroups(claims, provider, judge)
  return { identity: row.uid as Uid, claims, bounds, provider }
}

/** Where a token is not trusted enough to ask its issuer. */
const nobody: KeySource = {
  find: async () => ({
    kind: 'invalid',
    reason: 'no keys are asked for: the identity does not trust the issuer',
  }),
}

/** The identity of the person whom a token stands for, if it is one of a provider that people sign in with. */
async function identityOfPerson(
  { issuer, subject }: SubjectClaims,
  { identityProvider }: Attempt,
  provider: OrganizationProvider | undefined,
  { people, issuer: ownIssuer }: AssumeOptions,
): Promise<string | undefined> {
  if (identityProvider === undefined && issuer === ownIssuer) return parseUid(subject)
  const providers =
    identityProvider === undefined ? people.operatorProviders : provider === undefined ? [] : [provider]
  return providers.some((one) => one.issuer === issuer) ? people.uidOf(issuer, subject) : undefined
}

async function existing(
  identity: string | undefined,
  { db }: AssumeOptions,
  judge: Judge,
  progress: Progress,
): Promise<IdentityRow | undefined> {
  const row = identity === undefined ? undefined : await readResource(db, 'identities', identity)
  judge({
    name: 'exists',
    holds: row !== undefined,
    fault: 'identity',
    why: 'the identity does not exist',
    detail: () => ({ expected: 'an identity that exists', actual: row?.uid ?? '' }),
  })
  if (row !== undefined) progress.found(row.uid as Uid)
  return row
}

type Relationship = ReturnType<typeof relationshipOf>

/** How this token could open this identity; undefined when there is no way. */
function wayOf(
  row: IdentityRow,
  relationship: Relationship,
  { issuer, subject }: SubjectClaims,
  through: { readonly asked: Uid | undefined; readonly provider: OrganizationProvider | undefined },
  options: AssumeOptions,
): Way | undefined {
  const { asked, provider } = through
  if (asked !== undefined)
    return provider !== undefined && isPerson(row) ? personWay(row, [provider]) : undefined
  if (issuer === options.issuer && subject === row.uid) return ownIdentityWay(issuer, row.uid)
  switch (relationship.case) {
    case 'claimMatch':
      return claimMatchWay(relationship.value, {
        defaultAudiences: issuer === options.issuer ? options.platform.audiences : options.issuerForms,
        patternIssuers: options.patternIssuers,
      })
    case 'staticKeys':
      return staticKeysWay(relationship.value, {
        createdMs: row.created_ms,
        clock: options.clock,
        defaultAudiences: [...options.issuerForms, ...options.audiences],
      })
    case 'awsIdentity':
    case 'servicePrincipal':
      return undefined
    case undefined:
      return isPerson(row) ? personWay(row, options.people.operatorProviders) : undefined
    default:
      return relationship satisfies never
  }
}

function isPerson({ relationship, issuer }: IdentityRow): boolean {
  return relationship === RelationshipType.UNSPECIFIED && issuer !== ''
}

const takes: Readonly<Record<NonNullable<Relationship['case']>, string>> = {
  claimMatch: 'a token of the issuer that the identity names',
  staticKeys: 'a token that is signed with a key of the identity',
  awsIdentity: 'a signed request to AWS',
  servicePrincipal: 'proof that a service of the platform has, which nobody can show here',
}

function judgeRelationship(relationship: Relationship['case'], holds: boolean, judge: Judge): void {
  judge({
    name: 'relationship',
    holds,
    fault: 'identity',
    why: 'the identity is assumed in another way than with such a token',
    detail: () => ({
      expected:
        relationship === undefined ? 'a token of the person whose identity it is' : takes[relationship],
      actual: '',
    }),
  })
}

function judgeGroups({ payload }: SubjectClaims, provider: OrganizationProvider, judge: Judge): void {
  judge({
    name: 'groups',
    holds: provider.groupsOf(payload) !== undefined,
    fault: 'token',
    why: 'the groups that the token names cannot be read, or are too many',
    detail: () => ({ expected: 'a list of names, or none', actual: '' }),
  })
}

/** `now` is undefined for keys that are stored with an identity: they have an end of their own, and sign one token once for all. */
function judgeAge({ issuedAtMs }: SubjectClaims, now: number | undefined, judge: Judge): void {
  judge({
    name: 'age',
    holds: now === undefined || issuedAtMs === undefined || now - issuedAtMs <= limits.subjectTokenAgeMsMax,
    fault: 'token',
    why: 'the token was issued more than 24 hours ago',
    detail: () => ({ expected: 'issued at most 24 hours ago', actual: '', hint: 'get a new one' }),
  })
}
