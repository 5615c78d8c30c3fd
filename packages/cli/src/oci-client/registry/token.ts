import { asObject } from '../descriptors.ts'
import { isLoopback } from '../image-name.ts'
import { TransferError } from '../transfer-error.ts'
import type { Challenge } from './challenge.ts'

/**
 * Tokens of a registry's token service (Docker's token specification). Whoever answers a request names that service, so it is asked only
 * where it is known to be the registry's own (R34): on its host, on one that is known, or on one that the person named.
 */

export type Credentials =
  | { readonly user: string; readonly password: string }
  /** What some credential helpers give in place of a password. */
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

/** The specification's, where the answer does not say. */
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
    const who = credentials === undefined ? 'without credentials' : 'with the credentials for it'
    throw new TransferError(
      reply.status < 500 ? 'denied' : 'unreachable',
      host,
      `${url.host} gives no token for ${host} ${who} (status ${reply.status})`,
    )
  }
  const { token, access_token: accessToken, expires_in: seconds } = asObject(parseJson(reply.text)) ?? {}
  const text = token ?? accessToken
  if (typeof text !== 'string' || text === '' || !/^[\x21-\x7e]+$/.test(text))
    throw new TransferError('refused', host, `${url.host} answers with no token for ${host}`)
  const lifetime = typeof seconds === 'number' && seconds > 0 ? seconds : LIFETIME_SECONDS
  // What is asked for at the end of its life is asked for with the next one.
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
  if (!URL.canParse(realm)) throw unsafe(`names a token service that is no address: ${JSON.stringify(realm)}`)
  const url = new URL(realm)
  const isPlain = url.protocol === 'http:'
  if ((!isPlain && url.protocol !== 'https:') || url.username !== '' || url.password !== '')
    throw unsafe(`names a token service that cannot be asked: ${realm}`)
  if (!tokenHosts.includes(url.host))
    throw unsafe(
      `sends us to ${url.host} for a token, which is not known to belong to it, so it got nothing. If it does: --token-host ${url.host}`,
    )
  if (isPlain && !isLoopback(url.host))
    throw unsafe(`asks for credentials at ${url.host} over plain http, so it got nothing; it needs https`)
  return url
}
