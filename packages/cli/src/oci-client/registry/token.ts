import { asObject } from '../descriptors.ts'
import { isLoopback } from '../image-name.ts'
import { TransferError } from '../transfer-error.ts'
import type { Challenge } from './challenge.ts'

/**
 * Tokens of a registry's token service (Docker's token specification). Any response can name such a service, so credentials are sent
 * only to trusted hosts (R34): the registry's own, known ones, and those that the user named.
 */

export type Credentials =
  | { readonly user: string; readonly password: string }
  /** Some credential helpers return this instead of a password. */
  | { readonly identityToken: string }

export interface TokenRequest {
  readonly host: string
  readonly tokenHosts: readonly string[]
  readonly challenge: Extract<Challenge, { scheme: 'bearer' }>
  readonly scopes: readonly string[]
  readonly credentials: Credentials | undefined
  readonly send: (
    url: URL,
    request: { readonly method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
  ) => Promise<{ readonly status: number; readonly text: string }>
}

export interface RegistryToken {
  readonly token: string
  readonly refreshAtMs: number
}

/** The specification's default. */
const LIFETIME_SECONDS = 60

export async function fetchToken({
  host,
  tokenHosts,
  challenge: { realm, service },
  scopes,
  credentials,
  send,
}: TokenRequest): Promise<RegistryToken> {
  const url = requireTrustedRealm(host, tokenHosts, realm)
  const startedMs = Date.now()
  const isForm = credentials !== undefined && 'identityToken' in credentials
  const parameters = isForm ? new URLSearchParams() : url.searchParams
  if (service !== '') parameters.set('service', service)
  for (const scope of isForm ? [scopes.join(' ')] : scopes) parameters.append('scope', scope)
  const headers: Record<string, string> = { accept: 'application/json' }
  if (isForm) {
    parameters.set('grant_type', 'refresh_token')
    parameters.set('client_id', 'berth')
    parameters.set('refresh_token', credentials.identityToken)
    headers['content-type'] = 'application/x-www-form-urlencoded'
  } else if (credentials !== undefined) headers['authorization'] = basicAuthorization(credentials)
  const reply = await send(
    url,
    isForm ? { method: 'POST', headers, body: parameters.toString() } : { method: 'GET', headers },
  )
  if (reply.status !== 200) {
    const who = credentials === undefined ? 'without credentials' : 'with its credentials'
    throw new TransferError(
      reply.status < 500 ? 'denied' : 'unreachable',
      host,
      `${url.host} issued no token for ${host} ${who} (status ${reply.status})`,
    )
  }
  const { token, access_token: accessToken, expires_in: seconds } = asObject(parseJson(reply.text)) ?? {}
  const text = token ?? accessToken
  if (typeof text !== 'string' || text === '' || !/^[\x21-\x7e]+$/.test(text))
    throw new TransferError('refused', host, `the response of ${url.host} has no token for ${host}`)
  const lifetime = typeof seconds === 'number' && seconds > 0 ? seconds : LIFETIME_SECONDS
  // Refresh early, at nine tenths of the lifetime.
  return { token: text, refreshAtMs: startedMs + lifetime * 900 }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function basicAuthorization({ user, password }: Extract<Credentials, { user: string }>): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

function requireTrustedRealm(host: string, tokenHosts: readonly string[], realm: string): URL {
  const unsafe = (why: string) => new TransferError('unsafe', host, `${host} ${why}`)
  if (!URL.canParse(realm))
    throw unsafe(`names a token service with an invalid URL: ${JSON.stringify(realm)}`)
  const url = new URL(realm)
  const isPlain = url.protocol === 'http:'
  if ((!isPlain && url.protocol !== 'https:') || url.username !== '' || url.password !== '')
    throw unsafe(`names a token service with an unsupported URL: ${realm}`)
  if (!tokenHosts.includes(url.host))
    throw unsafe(
      `names ${url.host} as its token service, which is not trusted, so no credentials were sent. To trust it, use --token-host ${url.host}`,
    )
  if (isPlain && !isLoopback(url.host))
    throw unsafe(`asks for credentials at ${url.host} over plain http, so none were sent: use https`)
  return url
}
