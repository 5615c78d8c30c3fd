import type { Identity_AWSIdentity } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { arnProblem } from '../../trust/aws-arn.ts'
import type { CheckCondition, Condition, ConditionDetail } from '../../trust/condition.ts'
import { identityCondition, matchChoice, oneOfDetail, type SubjectClaims } from '../../trust/match.ts'
import { textHint } from '../../trust/match-hints.ts'
import { compilePattern } from '../../trust/patterns.ts'
import { type AwsCaller, type AwsSts, callAwsSts, unforwardedHeaders } from './aws-caller.ts'
import { type AwsRequest, amzDateMs, signedHeaders } from './aws-request.ts'

/**
 * Identities of AWS: the caller signs a request for GetCallerIdentity that names this server and the identity in signed headers, so that it
 * cannot be used elsewhere. It is valid for 15 minutes and can be reused until then (R14), like any other subject token.
 */

const AUDIENCE = 'chainguard-audience'
const IDENTITY = 'chainguard-identity'
const REQUIRED_SIGNED_HEADERS = ['host', 'x-amz-date', AUDIENCE, IDENTITY]
/** Headers that would change how the request is sent. */
const TRANSPORT =
  /^(?:connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|proxy-.*|http2-settings)$/

const MINUTE_MS = 60 * 1000
const LIFETIME_MS = 15 * MINUTE_MS
const CLOCK_SKEW_MS = 5 * MINUTE_MS

export interface AwsOptions extends AwsSts {
  readonly clock: () => number
  /** The accepted forms of the token service's address. */
  readonly audiences: readonly string[]
}

/** Whether a request is a current one for GetCallerIdentity that is bound to this server and identity: only then may it be forwarded. */
export function checkAwsRequest(
  { method, target, headers }: AwsRequest,
  identity: string | undefined,
  { endpoint, audiences, clock }: AwsOptions,
  check: CheckCondition,
): boolean {
  let allHold = true
  const header = (name: string) => headers.get(name) ?? ''
  const condition = (name: string, holds: boolean, reason: string, detail: () => ConditionDetail) => {
    allHold = check({ name, holds, fault: 'token', reason, detail }) && allHold
  }

  condition('method', method === 'POST', 'the signed request is not a POST', () => ({
    expected: 'POST',
    actual: method,
  }))
  const { hostname } = new URL(endpoint)
  condition(
    'host',
    header('host') === hostname,
    'the signed request is for another host than the AWS STS endpoint of this server',
    () => ({ expected: hostname, actual: header('host') }),
  )
  condition(
    'action',
    isCallerIdentity(target),
    'the signed request is not one for GetCallerIdentity',
    () => ({
      expected: '/?Action=GetCallerIdentity&Version=2011-06-15',
      actual: target,
    }),
  )
  const forbiddenHeaders = [...headers.keys()].filter(
    (name) => TRANSPORT.test(name) || (name === 'content-length' && header(name) !== '0'),
  )
  condition(
    'headers',
    forbiddenHeaders.length === 0,
    'the signed request has a header that is not allowed',
    () => ({
      expected: 'no header about the connection or a body',
      actual: forbiddenHeaders.join(', '),
    }),
  )
  const signed = signedHeaders(header('authorization')) ?? []
  const unsigned = REQUIRED_SIGNED_HEADERS.filter((name) => !signed.includes(name) || !headers.has(name))
  condition(
    'signed_headers',
    unsigned.length === 0,
    'the signature of the request does not cover host, x-amz-date, chainguard-audience and chainguard-identity',
    () => ({ expected: REQUIRED_SIGNED_HEADERS.join(', '), actual: signed.join(', ') }),
  )
  const unforwardable = signed.filter((name) => unforwardedHeaders.includes(name))
  condition(
    'passed_headers',
    unforwardable.length === 0,
    'the signature of the request covers user-agent, accept-encoding or content-length, which are not forwarded',
    () => ({ expected: `none of ${unforwardedHeaders.join(', ')} signed`, actual: unforwardable.join(', ') }),
  )
  condition(
    'audience',
    audiences.includes(header(AUDIENCE)),
    'the signed request is for another audience than this token service',
    () => oneOfDetail(audiences, [header(AUDIENCE)], textHint(audiences[0] ?? '', header(AUDIENCE))),
  )
  condition(
    'identity',
    identity !== undefined && header(IDENTITY) === identity,
    'the signed request names another identity',
    () => ({ expected: identity ?? '', actual: header(IDENTITY) }),
  )
  const dateMs = amzDateMs(header('x-amz-date'))
  const now = clock()
  const problem = dateProblem(dateMs, now)
  condition('date', problem === undefined, problem ?? '', () => ({
    expected: `at most 15 minutes before ${new Date(now).toISOString()}, and 5 after`,
    actual: header('x-amz-date'),
    hint: 'sign a new request; if that does not help, compare the clocks',
  }))
  return allHold
}

/** Asks AWS for the signer of a request; undefined if it is unknown. `request`: undefined if it may not be forwarded. */
export async function checkAwsCaller(
  request: AwsRequest | undefined,
  organization: string,
  options: AwsOptions,
  signal: AbortSignal | undefined,
  check: CheckCondition,
): Promise<AwsCaller | undefined> {
  const response = request && (await callAwsSts(options, organization, request, signal))
  const caller = response?.kind === 'caller' ? response.caller : undefined
  const isUnavailable = response?.kind === 'unavailable'
  check({
    name: 'caller',
    holds: response && caller !== undefined,
    fault: isUnavailable ? 'elsewhere' : 'token',
    reason: isUnavailable
      ? 'AWS STS is unavailable, so the signer of the request is unknown'
      : 'AWS rejected the signed request',
    detail: () => ({
      expected: 'a signature that AWS accepts',
      actual: caller?.arn ?? '',
      hint: isUnavailable
        ? 'try again in a minute'
        : 'the request must be signed for the service sts, with credentials that are valid now',
    }),
  })
  return caller
}

/** Checks the conditions of an identity for the signer. */
export function matchAwsCaller(
  { awsAccount, awsArn, awsUserId }: Identity_AWSIdentity,
  caller: AwsCaller | undefined,
  check: CheckCondition,
): void {
  const { account, arn, userId } = caller ?? { account: '', arn: '', userId: '' }
  const checkIfKnown = (condition: Condition) =>
    check(caller === undefined ? { ...condition, holds: undefined } : condition)
  checkIfKnown(
    identityCondition('account', account === awsAccount, () => ({ expected: awsAccount, actual: account })),
  )
  const arnCondition = matchChoice('arn', awsArn, 'arn', arn, compilePattern)
  const problem = awsArn.case === 'arn' ? arnProblem(awsArn.value) : undefined
  checkIfKnown(
    problem === undefined
      ? arnCondition
      : {
          ...arnCondition,
          detail: () => ({ ...arnCondition.detail(), hint: `awsIdentity.arn of the identity ${problem}` }),
        },
  )
  checkIfKnown(matchChoice('user_id', awsUserId, 'userId', userId, compilePattern))
}

/** The signer as claims, for the audit log and tokens. */
export function claimsOf(
  { headers }: AwsRequest,
  { arn }: AwsCaller,
  { endpoint }: AwsOptions,
): SubjectClaims {
  const issuedAtMs = amzDateMs(headers.get('x-amz-date') ?? '') ?? 0
  return {
    issuer: endpoint,
    subject: arn,
    audience: [headers.get(AUDIENCE) ?? ''],
    issuedAtMs,
    expiresAtMs: issuedAtMs + LIFETIME_MS,
    payload: {},
  }
}

function isCallerIdentity(target: string): boolean {
  if (!/^\/\?[A-Za-z0-9=&-]+$/.test(target)) return false
  const parameters = new URLSearchParams(target.slice(2))
  parameters.sort()
  return parameters.toString() === 'Action=GetCallerIdentity&Version=2011-06-15'
}

function dateProblem(dateMs: number | undefined, now: number): string | undefined {
  if (dateMs === undefined) return 'the signed request has no date such as 20260131T235959Z'
  if (dateMs > now + CLOCK_SKEW_MS) return 'the signed request is dated in the future'
  return dateMs < now - LIFETIME_MS
    ? 'the signed request has expired: it is older than 15 minutes'
    : undefined
}
