import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type * as OpenidClient from 'openid-client'
import { limits } from '../core/limits.ts'
import { type Outbound, OutboundError } from '../sts/outbound.ts'
import { groupsIn } from './provider-groups.ts'
import type { Provider } from './providers.ts'

/**
 * The other side of a sign-in through an OpenID provider: authorization code with state, nonce and proof key (OpenID Connect Core
 * 1.0 section 3.1, RFC 7636, RFC 9700). Every request goes through the guard of outbound requests, and whatever goes wrong lets
 * nobody in (R2, R15).
 */

/** Where the providers of organizations send people back to, under the address of the token service (the public contract). */
export const CALLBACK_PATH = '/oauth/callback'

/**
 * Where a provider sends people back to. The operator's have addresses of their own, so that what was meant for one of them is never
 * taken for the answer of an organization's, which could pass people on to get at their codes (RFC 9700 section 4.4.2.2).
 */
export function callbackPathOf({ organization, name }: Pick<Provider, 'organization' | 'name'>): string {
  return organization === '' ? `${CALLBACK_PATH}/${name}` : CALLBACK_PATH
}

/** What is kept between sending somebody to their provider and their coming back. */
export interface SentOff {
  readonly nonce: string
  readonly verifier: string
}

/** Somebody as their provider names them. */
export interface Claims {
  readonly subject: string
  /** '' when the provider does not say. */
  readonly email: string
  readonly emailVerified: boolean
  readonly groups: readonly string[]
}

export interface Upstream {
  /** Where to send the browser. Rejects with an UpstreamError. */
  begin(provider: Provider, state: string): Promise<{ readonly url: string; readonly sent: SentOff }>
  /** Who came back to `url`, the address with `code` and `state` in it. Rejects with an UpstreamError. */
  finish(provider: Provider, url: URL, state: string, sent: SentOff): Promise<Claims>
}

/** `unavailable`: the provider could not be asked, try again. `refused`: what it said will not do. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly kind: 'unavailable' | 'refused'

  constructor(kind: UpstreamError['kind'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = kind
  }
}

export interface UpstreamOptions {
  readonly outbound: Pick<Outbound, 'send'>
  /** `{auth_url}`. */
  readonly authUrl: string
}

type Library = typeof OpenidClient
type Configuration = OpenidClient.Configuration

export function upstream({ outbound, authUrl }: UpstreamOptions): Upstream {
  const known = new LRUCache<string, Promise<Configuration>>({
    max: limits.issuersRememberedMax,
    ttl: limits.issuerKeysMaxAgeMs,
  })

  const configurationOf = async (library: Library, provider: Provider): Promise<Configuration> => {
    const { issuer, clientId, clientSecret } = provider
    const key = createHash('sha256')
      .update(JSON.stringify([issuer, clientId, clientSecret]))
      .digest('base64url')
    const asked = known.get(key) ?? discover(library, provider, outbound)
    known.set(key, asked)
    try {
      return await asked
    } catch (error) {
      // A provider that did not answer is asked again by whoever comes next.
      if (known.peek(key) === asked) known.delete(key)
      throw error
    }
  }

  return {
    async begin(provider, state) {
      const library = await import('openid-client')
      return explained(async () => {
        const configuration = await configurationOf(library, provider)
        const sent = { nonce: library.randomNonce(), verifier: library.randomPKCECodeVerifier() }
        const url = library.buildAuthorizationUrl(configuration, {
          redirect_uri: authUrl + callbackPathOf(provider),
          scope: [...new Set(['openid', ...provider.scopes])].join(' '),
          state,
          nonce: sent.nonce,
          ...(takesPkce(provider, configuration)
            ? {
                code_challenge: await library.calculatePKCECodeChallenge(sent.verifier),
                code_challenge_method: 'S256',
              }
            : {}),
        })
        return { url: url.href, sent }
      })
    },

    async finish(provider, url, state, { nonce, verifier }) {
      const library = await import('openid-client')
      return explained(async () => {
        const configuration = await configurationOf(library, provider)
        const tokens = await library.authorizationCodeGrant(configuration, url, {
          expectedState: state,
          expectedNonce: nonce,
          ...(takesPkce(provider, configuration) ? { pkceCodeVerifier: verifier } : {}),
        })
        const claims = tokens.claims()
        if (claims === undefined) throw new UpstreamError('refused', 'it sent no ID token')
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
  outbound: Pick<Outbound, 'send'>,
): Promise<Configuration> {
  const customFetch: OpenidClient.CustomFetch = async (url, { method, headers, body, signal }) => {
    const answer = await outbound.send(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      body: body === undefined || body === null ? '' : String(body),
      signal,
    })
    return new Response(answer.status === 204 ? null : answer.text, {
      status: answer.status,
      headers: { 'content-type': answer.contentType },
    })
  }
  const found = await library.discovery(new URL(issuer), clientId, undefined, library.None(), {
    [library.customFetch]: customFetch,
    // Whether plain http may be used there at all is the guard's to decide.
    ...(issuer.startsWith('http:') ? { execute: [library.allowInsecureRequests] } : {}),
    timeout: limits.outboundTimeoutMs / 1000,
  })
  const metadata = found.serverMetadata()
  // The library compares this as well; who vouches for people must not depend on one line elsewhere.
  if (metadata.issuer !== issuer) throw new UpstreamError('refused', 'it names itself otherwise')
  if (clientSecret === '') return found
  // Without a word about it, Basic is what a provider takes (OpenID Connect Discovery 1.0 section 3).
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

/** Proof keys are used wherever they are taken, and where the organization demands them. */
function takesPkce({ requirePkce }: Provider, configuration: Configuration): boolean {
  return requirePkce || configuration.serverMetadata().supportsPKCE()
}

function readClaims({ groupsClaim }: Provider, claims: Readonly<Record<string, unknown>>): Claims {
  const subject = claims['sub']
  if (typeof subject !== 'string' || subject === '')
    throw new UpstreamError('refused', 'it does not say who somebody is')
  const email = claims['email']
  const groups = groupsIn(claims, groupsClaim)
  if ('problem' in groups) throw new UpstreamError('refused', groups.problem)
  return {
    subject,
    email: typeof email === 'string' ? email : '',
    emailVerified: claims['email_verified'] === true || claims['email_verified'] === 'true',
    groups,
  }
}

/** What the guard or the library found wrong, as one of our own errors: nothing of the provider's answer is in the message (R3). */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UpstreamError) throw error
    const guard = causeOf(error, OutboundError)
    if (guard?.kind === 'refused')
      throw new UpstreamError('refused', 'it lies in a network that may not be asked', error)
    const answered = isAnswer(error)
    throw new UpstreamError(
      answered ? 'refused' : 'unavailable',
      answered ? 'its answer will not do' : 'it does not answer as it should',
      error,
    )
  }
}

/** Errors of the library that say: the answer was there, and was wrong. */
function isAnswer(error: unknown): boolean {
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

function causeOf<T extends Error>(error: unknown, kind: new (...args: never[]) => T): T | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof kind) return at
  return undefined
}
