import { UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { CommandFailed, errorMessage, postForm } from '../../session/access-token.ts'
import { requireAccessToken } from '../../session/current-token.ts'

/** `berth auth token`: prints a token without a newline, which would become part of headers and passwords. */
export async function printToken(invocation: AuthInvocation): Promise<void> {
  const { settings } = invocation
  const audiences = invocation.optionValues('audience')
  if (audiences.length > 1)
    throw new UsageError('--audience is allowed only once: the command prints one token')
  const [audience = settings.audience] = audiences
  const groups = invocation.optionValues('scope')
  const capabilities = invocation.optionValues('capabilities')
  if (groups.length === 0 && capabilities.length === 0) {
    process.stdout.write(await requireAccessToken(invocation, audience))
    return
  }
  const own = await requireAccessToken(invocation)
  const { resolveGroupUid } = await import('../../invocation/resource-lookup.ts')
  const scopes: string[] = []
  for (const group of groups) scopes.push(await resolveGroupUid(invocation, group, '--scope'))
  const { decodeClaims } = await import('../../session/token-cache.ts')
  const identity = String(decodeClaims(own)['sub'] ?? '')
  const request = { aud: audience, identity, scopes, cap: capabilities }
  const { status, body } = await postForm(`${settings.issuer}/sts/exchange`, request, own)
  const { token } = body as { readonly token?: string }
  if (status !== 200 || !token) throw new CommandFailed(errorMessage(body))
  process.stdout.write(token)
}
