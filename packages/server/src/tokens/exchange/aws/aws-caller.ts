import { type Outbound, OutboundError, type OutboundResponse } from '../../../runtime/outbound/outbound.ts'
import { parseStrictJson } from '../../jwt/strict-json.ts'
import type { AwsRequest } from './aws-request.ts'

/** The signer of a request, as the AWS Security Token Service reports it; only AWS can verify the signature. */
export interface AwsCaller {
  readonly account: string
  readonly arn: string
  readonly userId: string
}

export interface AwsSts {
  readonly outbound: Pick<Outbound, 'share'>
  /** Address of AWS STS, without a trailing slash. */
  readonly endpoint: string
}

export type AwsResponse =
  | { readonly kind: 'caller'; readonly caller: AwsCaller }
  /** The signature is invalid or has expired. */
  | { readonly kind: 'rejected' }
  /** AWS did not respond, or throttled the request. */
  | { readonly kind: 'unavailable' }

/** Headers that the transport or this server sets; a signature that covers one of them would be invalid. */
export const unforwardedHeaders: readonly string[] = ['user-agent', 'accept-encoding', 'content-length']

/** Forwards a request as it was signed. Fails closed: only a complete GetCallerIdentity response identifies a caller (R15). */
export async function callAwsSts(
  { outbound, endpoint }: AwsSts,
  organization: string,
  { target, headers }: AwsRequest,
  signal: AbortSignal | undefined,
): Promise<AwsResponse> {
  const forwardedHeaders = [...headers].filter(([name]) => !unforwardedHeaders.includes(name))
  let response: OutboundResponse
  try {
    response = await outbound.share(organization).send(`${endpoint}${target}`, {
      method: 'POST',
      headers: { accept: 'application/json', ...Object.fromEntries(forwardedHeaders) },
      body: '',
      signal,
    })
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return { kind: 'unavailable' }
  }
  const { status, text } = response
  if (status === 429 || status >= 500 || isThrottling(text)) return { kind: 'unavailable' }
  const caller = status === 200 ? callerOf(text) : undefined
  return caller === undefined ? { kind: 'rejected' } : { kind: 'caller', caller }
}

function callerOf(text: string): AwsCaller | undefined {
  const result = member(member(parse(text), 'GetCallerIdentityResponse'), 'GetCallerIdentityResult')
  const [account, arn, userId] = ['Account', 'Arn', 'UserId'].map((name) => member(result, name))
  return typeof account === 'string' && typeof arn === 'string' && typeof userId === 'string'
    ? { account, arn, userId }
    : undefined
}

/** AWS reports throttling with status 400. */
function isThrottling(text: string): boolean {
  const code = member(member(parse(text), 'Error'), 'Code')
  return code === 'Throttling' || code === 'ThrottlingException'
}

function parse(text: string): unknown {
  const parsed = parseStrictJson(text)
  return 'value' in parsed ? parsed.value : undefined
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
}
