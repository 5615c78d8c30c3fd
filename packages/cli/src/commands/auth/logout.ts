import { clearCachedValues } from '../../completion/value-cache.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { errorMessage, postForm, refreshTokenKey, Unreachable } from '../../session/access-token.ts'
import { CLIENT_ID } from '../../session/sign-in/request.ts'
import { decodeClaims } from '../../session/token-cache.ts'

const OK = 200

/** Revokes the sessions of all stored tokens at their servers and deletes the tokens, or only those of the given audiences. */
export async function logout(invocation: AuthInvocation): Promise<void> {
  const { cache, settings, output } = invocation
  const audiences = invocation.optionValues('audience')
  if (audiences.length > 0) {
    for (const audience of audiences)
      output.notice(
        cache.clear(audience) === 0 ? `no token for ${audience}` : `deleted the token for ${audience}`,
      )
    return
  }
  const own = cache.read('refresh-token', refreshTokenKey(settings))
  const failures: string[] = []
  // Either kind of token identifies the session; a sign-in may have provided no refresh token.
  for (const token of [...cache.all('refresh-token'), ...cache.all('oidc-token')]) {
    // A token is sent only to its issuer.
    const issuer = token === own ? settings.issuer : String(decodeClaims(token)['iss'] ?? '')
    if (!URL.canParse(issuer)) continue
    try {
      const { status, body } = await postForm(`${issuer}/oauth/revoke`, { token, client_id: CLIENT_ID })
      if (status !== OK) failures.push(`${issuer}: ${errorMessage(body)}`)
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      failures.push(error.message)
    }
  }
  for (const why of new Set(failures))
    output.notice(`${why}; end the session on the page /account of the server, or let it expire`)
  clearCachedValues(cache.directory)
  output.notice(cache.clear() === 0 ? 'you were not signed in' : 'signed out')
}
