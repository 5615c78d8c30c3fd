import { type Outbound, OutboundError } from '../../runtime/outbound/outbound.ts'

/** What an issuer publishes about itself (OpenID Connect Discovery 1.0). */

/** The discovery document at the issuer, not looked at. Rejects with an OutboundError. */
export function fetchMetadata(outbound: Pick<Outbound, 'getJson'>, issuer: string): Promise<unknown> {
  // Section 4.1: a terminating slash is removed before the suffix is added.
  return outbound.getJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
}

/**
 * Whether an issuer says that it takes proof keys of method S256 (RFC 8414, section 2). One that says nothing about them is
 * `unknown`: large providers take them without saying so. So is one that cannot be asked, because this is about a setting being
 * sensible and lets nobody in: a provider can be set up before its issuer runs.
 */
export async function pkceSupport(outbound: Pick<Outbound, 'getJson'>, issuer: string): Promise<Support> {
  const methods = (await readMetadata(outbound, issuer))?.['code_challenge_methods_supported']
  if (!Array.isArray(methods)) return 'unknown'
  return methods.includes('S256') ? 'supported' : 'unsupported'
}

/** Whether an issuer promises to name itself in authorization responses (RFC 9207, section 3). `unknown`: it cannot be read. */
export async function issSupport(outbound: Pick<Outbound, 'getJson'>, issuer: string): Promise<Support> {
  const metadata = await readMetadata(outbound, issuer)
  if (metadata === undefined) return 'unknown'
  return metadata['authorization_response_iss_parameter_supported'] === true ? 'supported' : 'unsupported'
}

type Support = 'supported' | 'unsupported' | 'unknown'

/** The discovery document; undefined if it cannot be read or is of another issuer. */
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
