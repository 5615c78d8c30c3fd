import { UsageError } from '../client/invocation.ts'
import type { AuthInvocation } from '../client/run.ts'
import { messageOf, postForm, Refused, tokenFor } from '../client/session.ts'

/** `berth auth token`: prints a token without a line end, which would end up in headers and passwords. */
export async function printToken(invocation: AuthInvocation): Promise<void> {
  const { settings, cache } = invocation
  const audiences = invocation.list('audience')
  if (audiences.length > 1)
    throw new UsageError('--audience must be given once: a token is printed for one audience')
  const [audience = settings.audience] = audiences
  const groups = invocation.list('scope')
  const capabilities = invocation.list('capabilities')
  if (groups.length === 0 && capabilities.length === 0) {
    process.stdout.write(await tokenFor({ settings, cache }, audience))
    return
  }
  const own = await tokenFor({ settings, cache })
  const { groupUid } = await import('../client/locate.ts')
  const scopes: string[] = []
  for (const group of groups) scopes.push(await groupUid(invocation, group, '--scope'))
  const { claimsOf } = await import('../client/token-cache.ts')
  const identity = String(claimsOf(own)['sub'] ?? '')
  const asked = { aud: audience, identity, scopes, cap: capabilities }
  const { status, body } = await postForm(`${settings.issuer}/sts/exchange`, asked, own)
  const { token } = body as { readonly token?: string }
  if (status !== 200 || !token) throw new Refused(messageOf(body))
  process.stdout.write(token)
}
