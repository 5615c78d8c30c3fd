import { readFileSync } from 'node:fs'
import type { Settings } from '../../config/settings.ts'
import { CommandFailed, errorMessage, postForm, refreshTokenKey, type TokenSource } from '../access-token.ts'
import { decodeClaims, findValidToken } from '../token-cache.ts'
import { findAmbientToken } from './ambient.ts'

/**
 * The sign-in of a workload: its own token is exchanged for one of an identity. The cache stores where the workload's token comes from,
 * never the token, so that later commands can exchange the next one.
 */
export interface WorkloadLogin {
  readonly identity: string
  readonly identityProvider?: string | undefined
  /** Absolute path of the file with the workload's token. */
  readonly tokenFile?: string | undefined
  /** A CI system or cloud provides the token. */
  readonly isAmbient?: boolean
}

type Exchange = Pick<WorkloadLogin, 'identity' | 'identityProvider'>

/** Exchanges a token for one of an identity. Rejects with Unreachable or CommandFailed. */
export async function exchangeToken(
  { issuer }: Pick<Settings, 'issuer'>,
  subject: string,
  audience: string,
  { identity, identityProvider }: Exchange,
): Promise<string> {
  const { status, body } = await postForm(
    `${issuer}/sts/exchange`,
    { aud: audience, identity, identity_provider: identityProvider },
    subject,
  )
  const { token } = body as { readonly token?: string }
  if (status !== 200 || !token) throw new CommandFailed(errorMessage(body))
  return token
}

export function storeWorkloadLogin(
  { settings, cache }: Pick<TokenSource, 'settings' | 'cache'>,
  login: WorkloadLogin,
): void {
  cache.write('workload-login', JSON.stringify(login), refreshTokenKey(settings))
}

export function findWorkloadLogin({
  settings,
  cache,
}: Pick<TokenSource, 'settings' | 'cache'>): WorkloadLogin | undefined {
  try {
    return JSON.parse(cache.read('workload-login', refreshTokenKey(settings)) ?? '') as WorkloadLogin
  } catch {
    return undefined
  }
}

/**
 * Returns a token for an audience without a refresh token: in exchange for the valid token of the API, or for the next token of the
 * workload. Returns undefined if there is neither. Rejects with Unreachable or CommandFailed.
 */
export async function exchangeForAudience(
  source: TokenSource,
  audience: string,
): Promise<string | undefined> {
  const { settings, cache } = source
  const own = findValidToken(cache, settings.audience)
  const login = findWorkloadLogin(source)
  const identity = String(decodeClaims(own)['sub'] ?? '')
  const token =
    own !== undefined && audience !== settings.audience
      ? await exchangeToken(settings, own, audience, { identity })
      : login && (await exchangeNextToken(source, login, audience))
  if (token !== undefined) cache.write('oidc-token', token, audience)
  return token
}

async function exchangeNextToken(
  { settings, env }: TokenSource,
  login: WorkloadLogin,
  audience: string,
): Promise<string | undefined> {
  const { identity, tokenFile, isAmbient } = login
  const subject =
    tokenFile === undefined
      ? isAmbient && (await findAmbientToken(env, settings.issuer, identity))
      : readFileSync(tokenFile, 'utf8').trim()
  return subject ? exchangeToken(settings, subject, audience, login) : undefined
}
