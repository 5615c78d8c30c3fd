import type { AuthInvocation } from '../../invocation/invoke.ts'
import { errorMessage, postForm, refreshTokenKey, Unreachable } from '../../session/access-token.ts'
import { CLIENT_ID } from '../../session/sign-in/request.ts'
import { decodeClaims } from '../../session/token-cache.ts'

const OK = 200

/** Ends the sessions that tokens are kept of, at the servers that they are of, and forgets the tokens; or those for some audiences alone. */
export async function logout(invocation: AuthInvocation): Promise<void> {
  const { cache, settings, output } = invocation
  const audiences = invocation.optionValues('audience')
  if (audiences.length > 0) {
    for (const audience of audiences)
      output.notice(
        cache.clear(audience) === 0
          ? `there was no token for ${audience}`
          : `forgot the token for ${audience}`,
      )
    return
  }
  const own = cache.read('refresh-token', refreshTokenKey(settings))
  const left: string[] = []
  // Either kind of token ends its session; a sign-in may have given no refresh token.
  for (const token of [...cache.all('refresh-token'), ...cache.all('oidc-token')]) {
    // Each goes to who gave it, and to nobody else.
    const issuer = token === own ? settings.issuer : String(decodeClaims(token)['iss'] ?? '')
    if (!URL.canParse(issuer)) continue
    try {
      const { status, body } = await postForm(`${issuer}/oauth/revoke`, { token, client_id: CLIENT_ID })
      if (status !== OK) left.push(`${issuer}: ${errorMessage(body)}`)
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      left.push(error.message)
    }
  }
  for (const why of new Set(left))
    output.notice(`${why}; the session there ends by itself, or on its page /account`)
  output.notice(cache.clear() === 0 ? 'nobody was signed in' : 'signed out')
}
