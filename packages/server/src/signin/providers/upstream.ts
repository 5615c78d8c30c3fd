import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type * as OpenidClient from 'openid-client'
import { limits } from '../../config/limits.ts'
import {
  ownCallbackPath,
  SHARED_CALLBACK_PATH,
  sharedCallbackProblem,
} from '../../iam/identity-providers/callback.ts'
import { type Outbound, OutboundError, type OutboundRequests } from '../../runtime/outbound/outbound.ts'
import { jwtProblem, parseStrictJson } from '../../tokens/jwt/strict-json.ts'
import { readGroupsClaim } from './group-claim.ts'
import type { Provider } from './providers.ts'

/**
 * The client of upstream OpenID providers: authorization code with state, nonce and PKCE (OpenID Connect Core 1.0 section 3.1, RFC 7636,
 * RFC 9700). Every request goes through the guard of outbound requests, and every error rejects the sign-in (R2, R15).
 */

/** Path of the redirect URI of a provider, under the address of the token service. */
export function callbackPathOf({ id, sharedCallback }: Pick<Provider, 'id' | 'sharedCallback'>): string {
  return sharedCallback ? SHARED_CALLBACK_PATH : ownCallbackPath(id)
}

/** Values that are stored until the user returns from the provider. */
export interface AuthorizationChecks {
  readonly nonce: string
  readonly verifier: string
}

/** A user's claims from the provider. */
export interface Claims {
  readonly subject: string
  /** '' if the provider does not return it. */
  readonly email: string
  readonly emailVerified: boolean
  readonly groups: readonly string[]
}

export interface Upstream {
  /** Starts a sign-in and returns the URL for the browser. Rejects with an UpstreamError. */
  startSignIn(
    provider: Provider,
    state: string,
  ): Promise<{ readonly url: string; readonly sent: AuthorizationChecks }>
  /** Completes a sign-in with the callback `url`, which contains `code` and `state`. Rejects with an UpstreamError. */
  completeSignIn(provider: Provider, url: URL, state: string, sent: AuthorizationChecks): Promise<Claims>
}

/**
 * `unavailable`: the provider cannot be reached; a retry may help. `refused`: its response is invalid. `setup`: an owner of the organization
 * must change the provider first; the message describes how.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly kind: 'unavailable' | 'refused' | 'setup'

  constructor(kind: UpstreamError['kind'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = kind
  }
}

export interface UpstreamOptions {
  readonly outbound: Pick<Outbound, 'share'>
  /** `{auth_url}`. */
  readonly authUrl: string
}

type Library = typeof OpenidClient
type Configuration = OpenidClient.Configuration

export function upstream({ outbound, authUrl }: UpstreamOptions): Upstream {
  const cache = new LRUCache<string, Promise<Configuration>>({
    max: limits.issuersCachedMax,
    ttl: limits.issuerKeysMaxAgeMs,
  })

  const configurationOf = async (library: Library, provider: Provider): Promise<Configuration> => {
    const { issuer, clientId, clientSecret } = provider
    const share = outboundShareOf(provider)
    const key = createHash('sha256')
      .update(JSON.stringify([share, issuer, clientId, clientSecret]))
      .digest('base64url')
    const discovery = cache.get(key) ?? discover(library, provider, outbound.share(share))
    cache.set(key, discovery)
    try {
      return await discovery
    } catch (error) {
      // The next sign-in tries again.
      if (cache.peek(key) === discovery) cache.delete(key)
      throw error
    }
  }

  return {
    async startSignIn(provider, state) {
      const library = await import('openid-client')
      return translateErrors(async () => {
        const configuration = await configurationOf(library, provider)
        requireUsableCallback(provider, configuration, authUrl)
        const sent = { nonce: library.randomNonce(), verifier: library.randomPKCECodeVerifier() }
        const url = library.buildAuthorizationUrl(configuration, {
          redirect_uri: authUrl + callbackPathOf(provider),
          scope: [...new Set(['openid', ...provider.scopes])].join(' '),
          state,
          nonce: sent.nonce,
          ...(usesPkce(provider, configuration)
            ? {
                code_challenge: await library.calculatePKCECodeChallenge(sent.verifier),
                code_challenge_method: 'S256',
              }
            : {}),
        })
        return { url: url.href, sent }
      })
    },

    async completeSignIn(provider, url, state, { nonce, verifier }) {
      checkResponseIssuer(provider, url)
      const library = await import('openid-client')
      return translateErrors(async () => {
        const configuration = await configurationOf(library, provider)
        requireUsableCallback(provider, configuration, authUrl)
        if (supportsIssParameter(configuration) && !url.searchParams.has('iss'))
          throw new UpstreamError(
            'refused',
            'its response does not name its issuer, although its metadata announces that',
          )
        const tokens = await library.authorizationCodeGrant(configuration, url, {
          expectedState: state,
          expectedNonce: nonce,
          ...(usesPkce(provider, configuration) ? { pkceCodeVerifier: verifier } : {}),
        })
        const claims = tokens.claims()
        if (claims === undefined || tokens.id_token === undefined)
          throw new UpstreamError('refused', 'it sent no ID token')
        // The library uses the last of two members with the same name.
        const problem = jwtProblem(tokens.id_token)
        if (problem !== undefined) throw new UpstreamError('refused', `its ID token is invalid: ${problem}`)
        const isComplete =
          claims['email'] !== undefined &&
          (provider.groupsClaim === '' || claims[provider.groupsClaim] !== undefined)
        const more =
          isComplete || configuration.serverMetadata().userinfo_endpoint === undefined
            ? {}
            : await library.fetchUserInfo(configuration, tokens.access_token, claims.sub)
        return readClaims(provider, { ...more, ...claims })
      })
    },
  }
}

async function discover(
  library: Library,
  { issuer, clientId, clientSecret }: Provider,
  outbound: Pick<OutboundRequests, 'send'>,
): Promise<Configuration> {
  const customFetch: OpenidClient.CustomFetch = async (url, { method, headers, body, signal }) => {
    const response = await outbound.send(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      body: body === undefined || body === null ? '' : String(body),
      signal,
    })
    // The library would use the last of two members with the same name, also in claims.
    if (isJson(response.contentType) && hasDuplicateMembers(response.text))
      throw new UpstreamError('refused', 'its response has a duplicate member, or is too large')
    return new Response(response.status === 204 ? null : response.text, {
      status: response.status,
      headers: { 'content-type': response.contentType },
    })
  }
  const found = await library.discovery(new URL(issuer), clientId, undefined, library.None(), {
    [library.customFetch]: customFetch,
    // The guard decides whether plain http is allowed.
    ...(issuer.startsWith('http:') ? { execute: [library.allowInsecureRequests] } : {}),
    timeout: limits.outboundTimeoutMs / 1000,
  })
  const metadata = found.serverMetadata()
  // The library checks this too, but the security of sign-ins must not depend on that.
  if (metadata.issuer !== issuer) throw new UpstreamError('refused', 'its metadata names another issuer')
  if (clientSecret === '') return found
  // The default is Basic (OpenID Connect Discovery 1.0 section 3).
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const authentication = methods.includes('client_secret_basic')
    ? library.ClientSecretBasic(clientSecret)
    : library.ClientSecretPost(clientSecret)
  const configuration = new library.Configuration(metadata, clientId, undefined, authentication)
  configuration[library.customFetch] = customFetch
  configuration.timeout = limits.outboundTimeoutMs / 1000
  if (issuer.startsWith('http:')) library.allowInsecureRequests(configuration)
  return configuration
}

/**
 * Checks that a response is from the expected provider, if it names its issuer (RFC 9207, section 2.4). Throws an UpstreamError before any
 * request is sent.
 */
export function checkResponseIssuer({ issuer }: Pick<Provider, 'issuer'>, url: URL): void {
  const named = url.searchParams.getAll('iss')
  if (named.length > 1 || named.some((one) => one !== issuer))
    throw new UpstreamError('refused', 'the response is from another issuer')
}

function supportsIssParameter(configuration: Configuration): boolean {
  return configuration.serverMetadata().authorization_response_iss_parameter_supported === true
}

/** Without `iss`, responses of different providers at the shared redirect URI cannot be distinguished. */
function requireUsableCallback(provider: Provider, configuration: Configuration, authUrl: string): void {
  const { id: uid, issuer, sharedCallback } = provider
  if (!sharedCallback || supportsIssParameter(configuration)) return
  throw new UpstreamError('setup', sharedCallbackProblem({ uid, issuer }, 'unsupported', authUrl))
}

/** The share of outbound requests that a provider uses: its organization's; each of the operator's providers has its own. */
export function outboundShareOf({ id, organization }: Pick<Provider, 'id' | 'organization'>): string {
  return organization === '' ? id : organization
}

function isJson(contentType: string): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(contentType)
}

function hasDuplicateMembers(text: string): boolean {
  const parsed = parseStrictJson(text)
  return 'problem' in parsed && parsed.problem !== 'form'
}

/** PKCE is used if the provider supports it or the organization requires it. */
function usesPkce({ requirePkce }: Provider, configuration: Configuration): boolean {
  return requirePkce || configuration.serverMetadata().supportsPKCE()
}

function readClaims({ groupsClaim }: Provider, claims: Readonly<Record<string, unknown>>): Claims {
  const subject = claims['sub']
  if (typeof subject !== 'string' || subject === '')
    throw new UpstreamError('refused', 'its claims have no subject (sub)')
  const email = claims['email']
  const groups = readGroupsClaim(claims, groupsClaim)
  if ('problem' in groups) throw new UpstreamError('refused', groups.problem)
  return {
    subject,
    email: typeof email === 'string' ? email : '',
    emailVerified: claims['email_verified'] === true || claims['email_verified'] === 'true',
    groups,
  }
}

/** Converts errors of the guard and the library to UpstreamErrors, whose messages repeat nothing of the provider's response (R3). */
async function translateErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // The library wraps errors of our fetch.
    const upstreamError = findCause(error, UpstreamError)
    if (upstreamError !== undefined) throw upstreamError
    const guard = findCause(error, OutboundError)
    if (guard?.kind === 'refused')
      throw new UpstreamError('refused', 'its address is in a network that is not allowed', error)
    const isInvalid = isInvalidResponse(error)
    throw new UpstreamError(
      isInvalid ? 'refused' : 'unavailable',
      isInvalid ? 'its response is invalid' : 'it does not respond as expected',
      error,
    )
  }
}

/** Whether an error of the library means that a response was received and is invalid. */
function isInvalidResponse(error: unknown): boolean {
  const code = (error as { readonly code?: unknown }).code
  return (
    typeof code === 'string' &&
    [
      'OAUTH_INVALID_RESPONSE',
      'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
      'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
      'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
      'OAUTH_RESPONSE_BODY_ERROR',
      'OAUTH_AUTHORIZATION_RESPONSE_ERROR',
      'OAUTH_KEY_SELECTION_FAILED',
      'OAUTH_UNSUPPORTED_OPERATION',
    ].includes(code)
  )
}

function findCause<T extends Error>(error: unknown, kind: new (...args: never[]) => T): T | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof kind) return at
  return undefined
}
