import {
  type Identity,
  type Identity_AWSIdentity,
  type Identity_ClaimMatch,
  type Identity_StaticKeys,
  IdentitySchema,
  ServicePrincipal,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import { fromBinary } from '@bufbuild/protobuf'
import type { FieldViolation } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { arnProblem, checkArnAccount } from './aws-arn.ts'
import { checkIssuer } from './issuer-url.ts'
import { compilePattern, lintIssuerPattern } from './patterns.ts'
import { checkStaticKeys, staticKeysProblem } from './static-keys.ts'

/** Validates the relationship of an identity before it is stored. */

export interface RelationshipRules {
  /** Whether issuers may have plain http addresses: only if the operator allows private networks. */
  readonly plainHttpIssuers: boolean
  /** The token service itself, whose keys are not fetched. */
  readonly ownIssuer?: string
}

interface Times {
  /** When the identity was created, which is the start of the lifetime of static keys. */
  readonly createdMs: number
  readonly nowMs: number
}

type Violation = FieldViolation | undefined

/** Every violation of the identity's relationship, with fields relative to the identity. */
export function checkRelationship(
  { relationship }: Pick<Identity, 'relationship'>,
  rules: RelationshipRules,
  times: Times,
): Violation[] {
  switch (relationship.case) {
    case undefined:
      return [violation('claimMatch', 'is required, or another relationship')]
    case 'claimMatch':
      return checkClaimMatch(relationship.value, rules)
    case 'staticKeys':
      return checkStatic(relationship.value, rules, times)
    case 'awsIdentity':
      return checkAws(relationship.value)
    case 'servicePrincipal':
      return [checkServicePrincipal(relationship.value)]
    default:
      return relationship satisfies never
  }
}

/** Returns why no token can match a relationship that is stored anyway, because public clients create such identities. */
export function relationshipWarnings({ relationship }: Pick<Identity, 'relationship'>): readonly string[] {
  if (relationship.case === 'staticKeys') {
    const problem = staticKeysProblem(relationship.value.issuerKeys)
    return problem === undefined
      ? []
      : [`no token can match the identity yet: staticKeys.issuerKeys ${problem}`]
  }
  if (relationship.case === 'awsIdentity' && relationship.value.awsArn.case === 'arn') {
    const problem = arnProblem(relationship.value.awsArn.value)
    return problem === undefined
      ? []
      : [`no caller from AWS can match the identity yet: awsIdentity.arn ${problem}`]
  }
  return []
}

function checkClaimMatch(
  { iss, sub, aud, claims, claimPatterns }: Identity_ClaimMatch,
  rules: RelationshipRules,
): Violation[] {
  const at = (field: string) => `claimMatch.${field}`
  const checks: Violation[] = []
  if (iss.case === undefined) checks.push(violation(at('issuer'), 'issuer or issuerPattern is required'))
  if (iss.case === 'issuer') checks.push(checkIssuerUrl(at('issuer'), iss.value, rules))
  if (iss.case === 'issuerPattern') checks.push(reason(at('issuerPattern'), lintIssuerPattern(iss.value)))
  if (sub.case === undefined) checks.push(violation(at('subject'), 'subject or subjectPattern is required'))
  if (sub.case === 'subject') checks.push(checkText(at('subject'), sub.value))
  if (sub.case === 'subjectPattern') checks.push(checkGivenPattern(at('subjectPattern'), sub.value))
  if (aud.case === 'audience') checks.push(checkText(at('audience'), aud.value))
  if (aud.case === 'audiencePattern') checks.push(checkGivenPattern(at('audiencePattern'), aud.value))
  const count = Object.keys(claims).length + Object.keys(claimPatterns).length
  if (count > limits.claimsMax)
    checks.push(violation(at('claims'), `must be at most ${limits.claimsMax}, patterns included`))
  for (const [name, value] of Object.entries(claims)) {
    const field = at(`claims[${name}]`)
    checks.push(checkClaimName(field, name), checkLength(field, value))
  }
  for (const [name, pattern] of Object.entries(claimPatterns)) {
    const field = at(`claimPatterns[${name}]`)
    checks.push(checkClaimName(field, name), checkPattern(field, pattern))
  }
  return checks
}

function checkStatic(
  { issuer, subject, issuerKeys, expirationTime, audiences }: Identity_StaticKeys,
  rules: RelationshipRules,
  { createdMs, nowMs }: Times,
): Violation[] {
  const at = (field: string) => `staticKeys.${field}`
  const expiresMs = expirationTime === undefined ? undefined : timestampMs(expirationTime)
  const latestMs = createdMs + limits.staticKeyLifetimeMsMax
  return [
    checkIssuerUrl(at('issuer'), issuer, rules),
    checkText(at('subject'), subject),
    reason(at('issuerKeys'), checkStaticKeys(issuerKeys)),
    expiresMs !== undefined && expiresMs > latestMs
      ? violation(at('expirationTime'), 'must be at most 365 days after the identity is created')
      : undefined,
    expiresMs !== undefined && expiresMs <= nowMs
      ? violation(at('expirationTime'), 'must be in the future')
      : undefined,
    audiences.length > 1 ? violation(at('audiences'), 'must have at most one value') : undefined,
    ...audiences.map((audience, index) => checkText(at(`audiences[${index}]`), audience)),
  ]
}

/** Both the ARN and the user id are required: a role that is recreated with the same name has another user id. */
function checkAws({ awsAccount, awsArn, awsUserId }: Identity_AWSIdentity): Violation[] {
  const at = (field: string) => `awsIdentity.${field}`
  const checks = [
    /^[0-9]{12}$/.test(awsAccount)
      ? undefined
      : violation(at('awsAccount'), 'must be the 12 digits of an AWS account'),
  ]
  if (awsArn.case === undefined) checks.push(violation(at('arn'), 'arn or arnPattern is required'))
  if (awsArn.case === 'arn') {
    checks.push(
      checkText(at('arn'), awsArn.value) ?? reason(at('arn'), checkArnAccount(awsArn.value, awsAccount)),
    )
  }
  if (awsArn.case === 'arnPattern') checks.push(checkGivenPattern(at('arnPattern'), awsArn.value))
  if (awsUserId.case === undefined)
    checks.push(violation(at('userId'), 'userId or userIdPattern is required'))
  if (awsUserId.case === 'userId') checks.push(checkText(at('userId'), awsUserId.value))
  if (awsUserId.case === 'userIdPattern') checks.push(checkGivenPattern(at('userIdPattern'), awsUserId.value))
  return checks
}

function checkServicePrincipal(principal: ServicePrincipal): Violation {
  if (principal === ServicePrincipal.UNSPECIFIED) return violation('servicePrincipal', 'must name a service')
  // Proto enums are open: unknown numbers arrive unchanged.
  if (ServicePrincipal[principal] === undefined)
    return violation('servicePrincipal', `${principal} is not a service`)
  return undefined
}

/** Decodes a stored relationship, which defines who may assume an identity. */
export function relationshipOf(stored: Uint8Array): Identity['relationship'] {
  return fromBinary(IdentitySchema, stored).relationship
}

/** When the keys of a static-key identity expire (R16: checked at use). */
export function staticKeysExpireMs({ expirationTime }: Identity_StaticKeys, createdMs: number): number {
  return expirationTime === undefined
    ? createdMs + limits.staticKeyLifetimeMsMax
    : timestampMs(expirationTime)
}

/** Validates an issuer in a resource, also of an identity provider. */
export function checkIssuerUrl(
  field: string,
  issuer: string,
  { plainHttpIssuers, ownIssuer }: RelationshipRules,
): Violation {
  const problem = checkIssuer(issuer)
  if (problem !== undefined) return violation(field, problem)
  if (issuer.startsWith('http://') && !plainHttpIssuers && issuer !== ownIssuer)
    return violation(field, 'must be an https address')
  return undefined
}

function checkPattern(field: string, pattern: string): Violation {
  const compiled = compilePattern(pattern)
  return 'error' in compiled ? violation(field, compiled.error) : undefined
}

/** An empty pattern matches only the empty text, which no value is. */
function checkGivenPattern(field: string, pattern: string): Violation {
  return pattern === '' ? violation(field, 'must not be empty') : checkPattern(field, pattern)
}

function checkText(field: string, value: string): Violation {
  return value.trim() === '' ? violation(field, 'must not be empty') : checkLength(field, value)
}

function checkClaimName(field: string, name: string): Violation {
  return name.trim() === '' ? violation(field, 'must name a claim') : checkLength(field, name)
}

function checkLength(field: string, value: string): Violation {
  return value.length > limits.claimCharsMax
    ? violation(field, `must have at most ${limits.claimCharsMax} characters`)
    : undefined
}

function reason(field: string, problem: string | undefined): Violation {
  return problem === undefined ? undefined : violation(field, problem)
}

function violation(field: string, description: string): FieldViolation {
  return { field, description }
}
