import type { HttpHandler } from '../http.ts'
import { ALGORITHM, type SigningKeys } from './signing-keys.ts'

/** The token service as an OpenID provider: where its keys are (OpenID Connect Discovery 1.0, RFC 8414). */

/** Verifiers may keep the key set this long; a new key is published an hour before it signs. */
const CACHE_SECONDS = 300

const DISCOVERY = '/.well-known/openid-configuration'
const JWKS = '/.well-known/jwks.json'

export const discoveryPaths: readonly string[] = [DISCOVERY, JWKS]

/** Answers the two documents by path. `issuer`: the address of the token service, which verifiers compare byte for byte. */
export function discoveryHandler({
  issuer,
  keys,
}: {
  readonly issuer: string
  readonly keys: SigningKeys
}): HttpHandler {
  const configuration = JSON.stringify({
    issuer,
    jwks_uri: `${issuer}${JWKS}`,
    token_endpoint: `${issuer}/sts/exchange`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [ALGORITHM],
    scopes_supported: ['openid'],
    claims_supported: ['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'act'],
  })
  const headers = {
    'content-type': 'application/json',
    'cache-control': `public, max-age=${CACHE_SECONDS}`,
    // Public documents: any origin may read them.
    'access-control-allow-origin': '*',
  }
  return async ({ url }) => ({
    status: 200,
    headers,
    body: url.startsWith(DISCOVERY) ? configuration : JSON.stringify(await keys.published()),
  })
}
