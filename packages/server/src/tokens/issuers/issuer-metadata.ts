import { type Outbound, OutboundError } from '../../runtime/outbound/outbound.ts'

/** Metadata of issuers (OpenID Connect Discovery 1.0). */

/** Fetches the discovery document of an issuer, without checking it. Rejects with an OutboundError. */
export function fetchMetadata(outbound: Pick<Outbound, 'getJson'>, issuer: string): Promise<unknown> {
  // Section 4.1: a trailing slash is removed before the suffix is added.
  return outbound.getJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
}

/**
 * Whether the metadata of an issuer names PKCE with S256 (RFC 8414, section 2). `unknown`: the metadata does not mention PKCE, which large
 * providers support nevertheless, or cannot be fetched, because a provider can be created before its issuer runs. The result only validates a
 * setting; it does not authorize.
 */
export async function pkceSupport(outbound: Pick<Outbound, 'getJson'>, issuer: string): Promise<Support> {
  const methods = (await readMetadata(outbound, issuer))?.['code_challenge_methods_supported']
  if (!Array.isArray(methods)) return 'unknown'
  return methods.includes('S256') ? 'supported' : 'unsupported'
}

/** Whether an issuer announces `iss` in authorization responses (RFC 9207, section 3). `unknown`: the metadata cannot be fetched. */
export async function issSupport(outbound: Pick<Outbound, 'getJson'>, issuer: string): Promise<Support> {
  const metadata = await readMetadata(outbound, issuer)
  if (metadata === undefined) return 'unknown'
  return metadata['authorization_response_iss_parameter_supported'] === true ? 'supported' : 'unsupported'
}

type Support = 'supported' | 'unsupported' | 'unknown'

/** Reads the discovery document; undefined if it cannot be fetched or names another issuer. */
async function readMetadata(
  outbound: Pick<Outbound, 'getJson'>,
  issuer: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  let metadata: unknown
  try {
    metadata = await fetchMetadata(outbound, issuer)
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return undefined
  }
  if (typeof metadata !== 'object' || metadata === null) return undefined
  const found = metadata as Readonly<Record<string, unknown>>
  return found['issuer'] === issuer ? found : undefined
}
