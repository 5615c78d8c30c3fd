import { fromBinary } from '@bufbuild/protobuf'
import {
  type Identity,
  type Identity_ClaimMatch,
  type Identity_StaticKeys,
  IdentitySchema,
} from '#gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import type { FieldViolation } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import { timestampMs } from '../core/message.ts'
import { checkIssuer } from './issuer-url.ts'
import { compilePattern, lintIssuerPattern } from './patterns.ts'
import { checkStaticKeys } from './static-keys.ts'

/** What a relationship must look like before it is stored: whoever it lets in, it lets in for good. */

export interface RelationshipRules {
  /** Whether issuers may be plain http addresses: only where the operator allows private networks. */
  readonly plainHttpIssuers: boolean
}

interface Times {
  /** When the identity was created; the life of static keys counts from there. */
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
      return [
        violation(
          'claimMatch',
          'one of claimMatch, staticKeys, awsIdentity and servicePrincipal must be given',
        ),
      ]
    case 'claimMatch':
      return checkClaimMatch(relationship.value, rules)
    case 'staticKeys':
      return checkStatic(relationship.value, rules, times)
    case 'awsIdentity':
      return [
        /^[0-9]{12}$/.test(relationship.value.awsAccount)
          ? undefined
          : violation('awsIdentity.awsAccount', 'must be the 12 digits of an AWS account'),
        relationship.value.awsArn.case === 'arnPattern'
          ? checkPattern('awsIdentity.arnPattern', relationship.value.awsArn.value)
          : undefined,
        relationship.value.awsUserId.case === 'userIdPattern'
          ? checkPattern('awsIdentity.userIdPattern', relationship.value.awsUserId.value)
          : undefined,
      ]
    case 'servicePrincipal':
      return [relationship.value === 0 ? violation('servicePrincipal', 'must name a service') : undefined]
    default:
      return relationship satisfies never
  }
}

function checkClaimMatch(
  { iss, sub, aud, claims, claimPatterns }: Identity_ClaimMatch,
  rules: RelationshipRules,
): Violation[] {
  const at = (field: string) => `claimMatch.${field}`
  const checks: Violation[] = []
  if (iss.case === undefined) checks.push(violation(at('issuer'), 'issuer or issuerPattern must be given'))
  if (iss.case === 'issuer') checks.push(checkIssuerUrl(at('issuer'), iss.value, rules))
  if (iss.case === 'issuerPattern') checks.push(reason(at('issuerPattern'), lintIssuerPattern(iss.value)))
  if (sub.case === undefined) checks.push(violation(at('subject'), 'subject or subjectPattern must be given'))
  if (sub.case === 'subject') checks.push(checkPresent(at('subject'), sub.value))
  if (sub.case === 'subjectPattern') checks.push(checkPattern(at('subjectPattern'), sub.value))
  if (aud.case === 'audience') checks.push(checkPresent(at('audience'), aud.value))
  if (aud.case === 'audiencePattern') checks.push(checkPattern(at('audiencePattern'), aud.value))
  const count = Object.keys(claims).length + Object.keys(claimPatterns).length
  if (count > limits.claimsMax)
    checks.push(violation(at('claims'), `must be at most ${limits.claimsMax}, patterns included`))
  for (const [name, pattern] of Object.entries(claimPatterns))
    checks.push(checkPattern(at(`claimPatterns[${name}]`), pattern))
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
    checkPresent(at('subject'), subject),
    reason(at('issuerKeys'), checkStaticKeys(issuerKeys)),
    expiresMs !== undefined && expiresMs > latestMs
      ? violation(at('expirationTime'), 'must be at most 365 days after the identity is created')
      : undefined,
    expiresMs !== undefined && expiresMs <= nowMs
      ? violation(at('expirationTime'), 'must be in the future')
      : undefined,
    audiences.length > 1 ? violation(at('audiences'), 'must have at most one value') : undefined,
    ...audiences.map((audience, index) => checkPresent(at(`audiences[${index}]`), audience)),
  ]
}

/** Who may assume an identity, from the form in which it is stored. */
export function relationshipOf(stored: Uint8Array): Identity['relationship'] {
  return fromBinary(IdentitySchema, stored).relationship
}

/** When the keys of a static-key identity stop being accepted (R16: looked at when used). */
export function staticKeysExpireMs({ expirationTime }: Identity_StaticKeys, createdMs: number): number {
  return expirationTime === undefined
    ? createdMs + limits.staticKeyLifetimeMsMax
    : timestampMs(expirationTime)
}

/** The violation of an issuer that is named in a resource, also of an identity provider. */
export function checkIssuerUrl(
  field: string,
  issuer: string,
  { plainHttpIssuers }: RelationshipRules,
): Violation {
  const problem = checkIssuer(issuer)
  if (problem !== undefined) return violation(field, problem)
  if (issuer.startsWith('http://') && !plainHttpIssuers) return violation(field, 'must be an https address')
  return undefined
}

function checkPattern(field: string, pattern: string): Violation {
  const compiled = compilePattern(pattern)
  return 'error' in compiled ? violation(field, compiled.error) : undefined
}

function checkPresent(field: string, value: string): Violation {
  return value === '' ? violation(field, 'must not be empty') : undefined
}

function reason(field: string, problem: string | undefined): Violation {
  return problem === undefined ? undefined : violation(field, problem)
}

function violation(field: string, description: string): FieldViolation {
  return { field, description }
}
