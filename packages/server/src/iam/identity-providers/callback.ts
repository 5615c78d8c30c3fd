/**
 * Where identity providers send browsers back to after a sign-in. Each provider has a redirect URI of its own, so that a response of
 * one is never accepted as the response of another (RFC 9700, section 4.4.2.2).
 */

/**
 * The redirect URI of the public contract, under the address of the token service. Only providers that were created before each had
 * its own use it, and only if they name themselves in their responses (RFC 9207).
 */
export const SHARED_CALLBACK_PATH = '/oauth/callback'

/** Path of a provider's own redirect URI. `provider` is the uid of an organization's, the name of an operator's. */
export function ownCallbackPath(provider: string): string {
  return `${SHARED_CALLBACK_PATH}/${provider}`
}

/** Whether an issuer promises to name itself in its responses. `unknown`: its discovery document cannot be read. */
export type IssSupport = 'supported' | 'unsupported' | 'unknown'

/** Why sign-in through a provider with the shared redirect URI is rejected, and what to do; '' if it is not. */
export function sharedCallbackProblem(
  { uid, issuer }: { readonly uid: string; readonly issuer: string },
  support: IssSupport,
  authUrl: string,
): string {
  if (support === 'supported') return ''
  const why =
    support === 'unsupported'
      ? `the discovery document of ${issuer} does not set authorization_response_iss_parameter_supported to true`
      : `the discovery document of ${issuer} cannot be read`
  return [
    `Sign-in is rejected: this identity provider uses the shared redirect URI ${authUrl}${SHARED_CALLBACK_PATH}, and ${why}`,
    `Register the redirect URI ${authUrl}${ownCallbackPath(uid)} at the provider, then run: berth iam identity-providers update ${uid} --callback own`,
  ].join('. ')
}
