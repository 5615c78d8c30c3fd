import { rootOf } from '../../api/uid.ts'
import { parseUntrustedJson } from '../../runtime/json/untrusted-json.ts'
import { type Outbound, OutboundError, type OutboundResponse } from '../../runtime/outbound/outbound.ts'
import type { AccountTokens } from '../../tokens/cloud-account-token.ts'
import { notReady, type ProbeResult } from './probe.ts'

/** One request to a provider's token service, and the outcomes that all providers share. */

/** What every probe needs. */
export interface ProbeDeps {
  readonly outbound: Pick<Outbound, 'share'>
  readonly tokens: AccountTokens
  /** Address of the token service, without a slash at the end. */
  readonly endpoint: string
}

export interface ProviderTokenRequest {
  /** The provider's name in messages. */
  readonly provider: string
  /** uid of the group for which the request is sent. */
  readonly group: string
  readonly url: string
  readonly form: Readonly<Record<string, string>>
  readonly accept: string
  readonly signal: AbortSignal | undefined
}

/** Returns the provider's response or, if there is none, the outcome. */
export async function requestProviderToken(
  outbound: ProbeDeps['outbound'],
  { provider, group, url, form, accept, signal }: ProviderTokenRequest,
): Promise<{ readonly response: OutboundResponse } | { readonly outcome: ProbeResult }> {
  try {
    const response = await outbound.share(rootOf(group)).postForm(url, form, { accept, signal })
    return response.status === 429 || response.status >= 500
      ? { outcome: providerBusy(provider) }
      : { response }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return { outcome: requestFailed(provider, error) }
  }
}

/** The provider reports that it is unavailable. */
export function providerBusy(provider: string): ProbeResult {
  return notReady('unreachable', `${provider} is unavailable at the moment; try again in a few minutes`)
}

/** The response has neither credentials nor a known error of the provider. */
export function unexpectedResponse(provider: string): ProbeResult {
  return notReady(
    'unexpected answer',
    `${provider} returned neither credentials nor an error that Berth can read; the operator should check the configured address`,
  )
}

function requestFailed(provider: string, { kind }: OutboundError): ProbeResult {
  switch (kind) {
    case 'refused':
      return notReady(
        'unreachable',
        `Berth is not allowed to connect to the configured address of ${provider}`,
      )
    case 'timeout':
      return notReady('unreachable', `${provider} did not respond in time`)
    case 'network':
      return notReady('unreachable', `Berth could not connect to ${provider}, or the connection broke`)
    case 'too_large':
    case 'redirect':
    case 'bad_status':
    case 'bad_body':
      return unexpectedResponse(provider)
    default:
      return kind satisfies never
  }
}

/** The members of a JSON object; undefined for any other text. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseUntrustedJson(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Whether an OAuth token response (RFC 6749, section 5.1) holds an access token. */
export function hasAccessToken(text: string): boolean {
  const token = jsonObject(text)?.['access_token']
  return typeof token === 'string' && token !== ''
}
