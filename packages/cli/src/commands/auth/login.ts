import { UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { CommandFailed, refreshAccessToken, refreshTokenKey } from '../../session/access-token.ts'
import { identityTokenFile, readIdentityToken } from '../../session/sign-in/identity-token.ts'
import type { SignedInTokens, SignInRequest } from '../../session/sign-in/request.ts'
import { decodeClaims } from '../../session/token-cache.ts'

/** Sign-in of a user, with or without a browser, or of a workload with its token. */

/** Runs `berth auth login`: stores the tokens in the cache and returns the token of the first audience. */
export async function login(invocation: AuthInvocation): Promise<string> {
  const { settings, cache } = invocation
  const audiences =
    invocation.optionValues('audience').length > 0 ? invocation.optionValues('audience') : [settings.audience]
  const [first = settings.audience] = audiences
  if (invocation.flag('refreshOnly') || invocation.flag('refresh')) {
    let renewed: string | undefined
    for (const audience of audiences.toReversed())
      renewed = await refreshAccessToken({ settings, cache }, audience, { force: true })
    if (renewed !== undefined) return renewed
    if (invocation.flag('refreshOnly'))
      throw new CommandFailed('the refresh token is missing or expired: run berth auth login')
  }
  const identity = invocation.option('identity')
  if (identity !== '') return loginAsIdentity(invocation, identity, audiences)
  if (invocation.option('identityToken') !== '') throw new UsageError('--identity-token needs --identity')

  const print = (line: string) => void process.stderr.write(`${line}\n`)
  const identityProvider = readIdentityProvider(invocation)
  if (identityProvider !== '') {
    const { requireIdentityProvider } = await import('../../session/sign-in/identity-provider.ts')
    await requireIdentityProvider(settings.issuer, identityProvider)
  }
  const tokens = await signIn(invocation, {
    issuer: settings.issuer,
    audiences,
    // The same sign-in provides the tokens for Docker.
    optionalAudience: audiences.includes(settings.registry) ? undefined : settings.registry,
    identityProvider,
    connection: invocation.option('connection') || settings.properties['default.connection'] || '',
    print,
  })
  storeTokens(invocation, first, tokens)
  for (const audience of audiences.slice(1)) {
    const more = await tokens.exchangeFor?.(audience)
    if (more !== undefined) cache.write('oidc-token', more, audience)
    else if ((await refreshAccessToken({ settings, cache }, audience)) === undefined)
      throw new CommandFailed(
        `this sign-in provides only a token for ${first}; for ${audience}, run berth auth login --audience ${audience}`,
      )
  }
  const invite = invocation.option('inviteCode')
  if (invite !== '') {
    const client = await invocation.client()
    const { roleBinding } = await client.invitations.acceptGroupInvite({ code: invite })
    print(
      `Accepted the invite: you are ${roleBinding?.role?.name ?? 'a member'} of ${roleBinding?.group?.name ?? 'the group'}.`,
    )
  }
  return tokens.accessToken
}

async function signIn(invocation: AuthInvocation, request: SignInRequest): Promise<SignedInTokens> {
  const { properties } = invocation.settings
  if (!invocation.flag('headless') && properties['auth.mode'] !== 'headless')
    return (await import('../../session/sign-in/browser.ts')).signInWithBrowser(request)
  return properties['auth.device-flow'] === 'platform'
    ? (await import('../../session/sign-in/platform-device.ts')).signInWithPlatformFlow(request)
    : (await import('../../session/sign-in/device.ts')).signInWithDevice(request)
}

/** Stores the tokens of a sign-in, and deletes those of another identity at the same server. */
function storeTokens(
  { cache, settings }: AuthInvocation,
  audience: string,
  { accessToken, refreshToken }: Pick<SignedInTokens, 'accessToken' | 'refreshToken'>,
): void {
  const { iss, sub } = decodeClaims(accessToken)
  cache.removeWhere((claims) => claims['iss'] === iss && claims['sub'] !== sub)
  cache.write('oidc-token', accessToken, audience)
  const key = refreshTokenKey(settings)
  cache.remove('workload-login', key)
  if (refreshToken === undefined) cache.remove('refresh-token', key)
  else cache.write('refresh-token', refreshToken, key)
}

/** Returns the identity provider to sign in with, as uid or organization name; '' for any. */
function readIdentityProvider(invocation: AuthInvocation): string {
  const { properties } = invocation.settings
  return (
    invocation.option('identityProvider') ||
    invocation.option('orgName') ||
    properties['default.identity-provider'] ||
    properties['default.org-name'] ||
    ''
  )
}

async function loginAsIdentity(
  invocation: AuthInvocation,
  identity: string,
  audiences: readonly string[],
): Promise<string> {
  const { settings, cache, env } = invocation
  const given = invocation.option('identityToken') || env['BERTH_IDENTITY_TOKEN'] || ''
  const prefersAmbient = invocation.flag('preferAmbientCredentials')
  const { findAmbientToken } = await import('../../session/sign-in/ambient.ts')
  const ambient =
    given === '' || prefersAmbient ? await findAmbientToken(env, settings.issuer, identity) : undefined
  const subject = ambient ?? (given === '' ? undefined : readIdentityToken(given))
  if (subject === undefined)
    throw new UsageError('--identity-token is required: found no credentials of a CI system or cloud')
  const { exchangeToken, storeWorkloadLogin } = await import('../../session/sign-in/workload.ts')
  const login = { identity, identityProvider: invocation.optionIfSet('identityProvider') }
  let first = ''
  for (const audience of audiences) {
    const token = await exchangeToken(settings, subject, audience, login).catch((error: unknown) => {
      if (!(error instanceof CommandFailed)) throw error
      throw new CommandFailed(
        `${error.message}\nto find the cause, run berth auth explain --identity ${identity} --identity-token FILE`,
        { cause: error },
      )
    })
    if (first === '') storeTokens(invocation, audience, { accessToken: token, refreshToken: undefined })
    else cache.write('oidc-token', token, audience)
    first ||= token
  }
  storeWorkloadLogin(invocation, {
    ...login,
    tokenFile: ambient === undefined ? identityTokenFile(given) : undefined,
    isAmbient: ambient !== undefined,
  })
  return first
}
