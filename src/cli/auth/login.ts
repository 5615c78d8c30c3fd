import { existsSync, readFileSync } from 'node:fs'
import { UsageError } from '../client/invocation.ts'
import type { AuthInvocation } from '../client/run.ts'
import { messageOf, postForm, Refused, renew } from '../client/session.ts'
import { ambientToken } from './ambient.ts'
import { signInWithBrowser } from './browser-sign-in.ts'
import { signInWithDevice } from './device-sign-in.ts'
import { signInWithKey } from './key-sign-in.ts'
import type { SignInRequest } from './sign-in-request.ts'

/** Signing in: a person with a browser or without one, a workload with its own token. */

/** The whole of `berth auth login`; leaves its tokens in the cache and returns the first audience's. */
export async function login(invocation: AuthInvocation): Promise<string> {
  const { settings, cache } = invocation
  const audiences = invocation.list('audience').length > 0 ? invocation.list('audience') : [settings.audience]
  const [first = settings.audience] = audiences
  if (invocation.flag('refreshOnly') || invocation.flag('refresh')) {
    const renewed = await renew({ settings, cache }, first)
    if (renewed !== undefined) return renewed
    if (invocation.flag('refreshOnly'))
      throw new Refused('there is no refresh token that still counts: run berth auth login')
  }
  const identity = invocation.text('identity')
  if (identity !== '') return loginAsIdentity(invocation, identity, audiences)
  if (invocation.text('identityToken') !== '') throw new UsageError('--identity-token needs --identity')

  const request: SignInRequest = {
    issuer: settings.issuer,
    audiences,
    identityProvider: await providerOf(invocation),
    connection: invocation.text('connection') || settings.properties['default.connection'] || '',
    tell: (line) => process.stderr.write(`${line}\n`),
  }
  const headless = invocation.flag('headless') || settings.properties['auth.mode'] === 'headless'
  const byKey = settings.properties['auth.device-flow'] === 'platform'
  const signInHeadless = byKey ? signInWithKey : signInWithDevice
  const tokens = headless ? await signInHeadless(request) : await signInWithBrowser(request)
  cache.write('oidc-token', tokens.accessToken, first)
  if (tokens.refreshToken === undefined) cache.remove('refresh-token', settings.audience)
  else cache.write('refresh-token', tokens.refreshToken, settings.audience)
  for (const audience of audiences.slice(1)) {
    cache.remove('oidc-token', audience)
    await renew({ settings, cache }, audience)
  }
  const invite = invocation.text('inviteCode')
  if (invite !== '') {
    const client = await invocation.client()
    const { roleBinding } = await client.invitations.acceptGroupInvite({ code: invite })
    request.tell(
      `You are ${roleBinding?.role?.name ?? 'a member'} of ${roleBinding?.group?.name ?? 'the group'} now.`,
    )
  }
  return tokens.accessToken
}

/** uid of the identity provider to sign in with; '' when the person chooses. */
async function providerOf(invocation: AuthInvocation): Promise<string> {
  const { settings } = invocation
  const organization = invocation.text('orgName') || settings.properties['default.org-name'] || ''
  const named = invocation.text('identityProvider') || settings.properties['default.identity-provider'] || ''
  // The token service takes either.
  return named || organization
}

async function loginAsIdentity(
  invocation: AuthInvocation,
  identity: string,
  audiences: readonly string[],
): Promise<string> {
  const { settings, cache, env } = invocation
  const given = invocation.text('identityToken') || env['BERTH_IDENTITY_TOKEN'] || ''
  const prefersAmbient = invocation.flag('preferAmbientCredentials')
  const ambient =
    given === '' || prefersAmbient ? await ambientToken(env, settings.issuer, identity) : undefined
  const subject = ambient ?? (given === '' ? undefined : tokenOrFile(given))
  if (subject === undefined)
    throw new UsageError(
      '--identity-token must be given: no credentials of a CI system or cloud were found here',
    )
  let first = ''
  for (const audience of audiences) {
    const reply = await postForm(
      `${settings.issuer}/sts/exchange`,
      { aud: audience, identity, identity_provider: invocation.given('identityProvider') },
      subject,
    )
    const { token } = reply.body as { readonly token?: string }
    if (reply.status !== 200 || !token)
      throw new Refused(
        `${messageOf(reply.body)}\nberth auth explain --identity ${identity} --identity-token FILE says which condition does not hold`,
      )
    cache.write('oidc-token', token, audience)
    first ||= token
  }
  cache.remove('refresh-token', settings.audience)
  process.stderr.write('Successfully exchanged token.\n')
  return first
}

/** A token as it is, or the file that holds it. */
export function tokenOrFile(text: string): string {
  if (text === '-') return readFileSync(0, 'utf8').trim()
  if (existsSync(text)) return readFileSync(text, 'utf8').trim()
  if (/[/\\]/.test(text) && !text.includes('.ey')) throw new UsageError(`there is no file ${text}`)
  return text.trim()
}
