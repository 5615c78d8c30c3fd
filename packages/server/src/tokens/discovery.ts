import type { HttpHandler } from '../port/http.ts'
import type { SigningKeys } from './keys/signing-keys.ts'

/**
 * Metadata of the token service as an OpenID provider: its keys and its OAuth endpoints (OpenID Connect Discovery 1.0, RFC 8414). The exchange
 * is not listed, because it is not an OAuth grant.
 */

/** Verifiers may keep the key set this long; a new key is published an hour before it signs. */
const CACHE_SECONDS = 300

const DISCOVERY = '/.well-known/openid-configuration'
const JWKS = '/.well-known/jwks.json'

export const discoveryPaths: readonly string[] = [DISCOVERY, JWKS]

/** Serves the two documents. `issuer`: the address of the token service, which verifiers compare byte for byte. */
export function discoveryHandler({
  issuer,
  keys,
}: {
  readonly issuer: string
  readonly keys: SigningKeys
}): HttpHandler {
  const configuration = {
    issuer,
    jwks_uri: `${issuer}${JWKS}`,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: [
      'authorization_code',
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:device_code',
    ],
    code_challenge_methods_supported: ['S256'],
    // All clients are public.
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
    subject_types_supported: ['public'],
    scopes_supported: ['openid', 'profile', 'email', 'offline_access'],
    claims_supported: [
      ...['iss', 'sub', 'aud', 'azp', 'exp', 'iat', 'jti', 'act'],
      ...['auth_time', 'nonce', 'name', 'email', 'email_verified'],
    ],
  }
  const configurationWith = ({ keys: published }: Awaited<ReturnType<SigningKeys['published']>>) => ({
    ...configuration,
    id_token_signing_alg_values_supported: [...new Set(published.map(({ alg }) => alg))],
  })
  const headers = {
    'content-type': 'application/json',
    'cache-control': `public, max-age=${CACHE_SECONDS}`,
    // Public documents: any origin may read them.
    'access-control-allow-origin': '*',
  }
  return async ({ url }) => {
    const published = await keys.published()
    const document = url.startsWith(DISCOVERY) ? configurationWith(published) : published
    return { status: 200, headers, body: JSON.stringify(document) }
  }
}
