import type { AuthInvocation } from '../client/run.ts'
import { postForm, refreshKey, Unreachable } from '../client/session.ts'
import { claimsOf } from '../client/token-cache.ts'
import { CLIENT_ID } from './sign-in-request.ts'

/** Ends the sessions that tokens are kept of, at the servers that they are of, and forgets the tokens; or those for some audiences alone. */
export async function logout(invocation: AuthInvocation): Promise<void> {
  const { cache, settings, output } = invocation
  const audiences = invocation.list('audience')
  if (audiences.length > 0) {
    for (const audience of audiences)
      output.done(
        cache.clear(audience) === 0
          ? `there was no token for ${audience}`
          : `forgot the token for ${audience}`,
      )
    return
  }
  const own = cache.read('refresh-token', refreshKey(settings))
  for (const token of cache.all('refresh-token')) {
    // Each goes to who gave it, and to nobody else.
    const issuer = token === own ? settings.issuer : String(claimsOf(token)['iss'] ?? '')
    if (!URL.canParse(issuer)) continue
    try {
      await postForm(`${issuer}/oauth/revoke`, { token, client_id: CLIENT_ID })
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      output.done(`${error.message}; the session there ends by itself, or on its page /account`)
    }
  }
  output.done(cache.clear() === 0 ? 'nobody was signed in' : 'signed out')
}
