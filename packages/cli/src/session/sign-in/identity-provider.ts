import { randomBytes } from 'node:crypto'
import { CommandFailed, toUnreachable } from '../access-token.ts'
import { request } from '../http.ts'
import { CLIENT_ID } from './request.ts'

/**
 * Rejects with CommandFailed if the server cannot sign users in with an identity provider, given as its uid or as the name of its
 * organization: before a browser opens. Asks the authorization endpoint without interaction (OpenID Connect Core 1.0 section 3.1.2.1),
 * which stores nothing.
 */
export async function requireIdentityProvider(issuer: string, identityProvider: string): Promise<void> {
  const url = new URL('/oauth/authorize', issuer)
  const parameters = {
    response_type: 'code',
    prompt: 'none',
    client_id: CLIENT_ID,
    redirect_uri: 'http://127.0.0.1/callback',
    state: 'check',
    code_challenge: randomBytes(32).toString('base64url'),
    code_challenge_method: 'S256',
    idp_id: identityProvider,
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  const response = await request(url, { redirect: 'manual' }).catch((error: unknown) => {
    throw toUnreachable(url.href, error)
  })
  const location = response.headers.get('location') ?? ''
  const error = URL.canParse(location) ? new URL(location).searchParams.get('error') : null
  // Any other response leaves the decision to the sign-in itself.
  if (error === 'invalid_request')
    throw new CommandFailed(
      `there is no identity provider for ${JSON.stringify(identityProvider)}: it is neither the uid of one nor a verified organization that has one. Check the name, or sign in without it: berth auth login`,
    )
}
