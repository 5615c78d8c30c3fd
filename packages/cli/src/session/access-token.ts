import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../config/settings.ts'
import { sanitizeText } from '../output/text-width.ts'
import { failureReason, request } from './http.ts'
import { findValidToken, remainingMs, type TokenCache } from './token-cache.ts'

/** A token for an audience: the one that was given, the one that was kept, or a new one from the refresh token. */

/** Nobody is signed in: exit code 4. */
export class NotSignedIn extends Error {
  override readonly name = 'NotSignedIn'
}

/** The server could not be reached: exit code 3. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** The server said no: exit code 1. */
export class CommandFailed extends Error {
  override readonly name = 'Refused'
}

export interface TokenSource {
  readonly settings: Settings
  readonly cache: TokenCache
}

/** Rejects with NotSignedIn when there is no token and none can be got without asking anybody. */
export async function getAccessToken(
  source: TokenSource,
  audience = source.settings.audience,
): Promise<string> {
  const { settings, cache } = source
  if (settings.token !== '') return settings.token
  const known = findValidToken(cache, audience)
  if (known !== undefined) return known
  const renewed = await refreshAccessToken(source, audience).catch((error: unknown) => {
    // What is left of the old one may be enough.
    const old = cache.read('oidc-token', audience)
    if (error instanceof Unreachable && old !== undefined && remainingMs(old) > 0) return old
    throw error
  })
  if (renewed !== undefined) return renewed
  throw new NotSignedIn(notSignedInMessage(source, audience))
}

function notSignedInMessage({ settings, cache }: TokenSource, audience: string): string {
  const isOther = audience !== settings.audience && findValidToken(cache, settings.audience) !== undefined
  return isOther
    ? `you are not signed in for ${audience}: run berth auth login --audience ${settings.audience} --audience ${audience}`
    : `you are not signed in to ${settings.issuer}: run berth auth login`
}

/** Where in the cache the refresh token of a server is: one, whatever the access tokens are for. */
export function refreshTokenKey({ api }: Pick<Settings, 'api'>): string {
  return api
}

/** A program that holds the lock and does not say that it lives, for this long, is taken for dead. */
const LOCK_STALE_MS = 15_000

/**
 * A new access token by the refresh token, which that uses up. Of several programs that want one at once, one asks and the others
 * find what it got: a refresh token that comes twice ends the session. Undefined when there is no refresh token that still counts.
 * `force`: also when the token that is kept is good, unless another program renewed it just now.
 */
export async function refreshAccessToken(
  source: TokenSource,
  audience: string,
  { force = false } = {},
): Promise<string | undefined> {
  const { cache, settings } = source
  const key = refreshTokenKey(settings)
  if (remainingMs(cache.read('refresh-token', key)) === 0) return undefined
  const before = cache.read('oidc-token', audience)
  const release = await acquireLock(cache.directory)
  try {
    const refreshed = findValidToken(cache, audience)
    if (refreshed !== undefined && !(force && refreshed === before)) return refreshed
    const token = cache.read('refresh-token', key)
    if (token === undefined || remainingMs(token) === 0) return undefined
    const reply = await postForm(`${settings.issuer}/sts/exchange_refresh_token`, { aud: audience }, token)
    if (reply.status !== 200) {
      if (reply.status === 429 || reply.status >= 500)
        throw new Unreachable(`the token cannot be renewed now: ${errorMessage(reply.body)}`)
      // Only what says that it will never be good again ends the sign-in here.
      if (reply.status === 401 || reply.status === 403) cache.remove('refresh-token', key)
      return undefined
    }
    const pair = reply.body as {
      readonly token?: { readonly token?: string }
      readonly refreshToken?: { readonly token?: string }
    }
    // First what cannot be had again.
    if (pair.refreshToken?.token) cache.write('refresh-token', pair.refreshToken.token, key)
    if (pair.token?.token) cache.write('oidc-token', pair.token.token, audience)
    return pair.token?.token
  } finally {
    await release()
  }
}

async function acquireLock(base: string): Promise<() => Promise<void>> {
  const { lock } = await import('proper-lockfile')
  mkdirSync(base, { recursive: true, mode: 0o700 })
  let isLost = false
  const release = await lock(base, {
    lockfilePath: join(base, 'refresh.lock'),
    stale: LOCK_STALE_MS,
    retries: { retries: 200, minTimeout: 25, maxTimeout: 250 },
    // A machine that slept meanwhile: the answer is still the one to keep.
    onCompromised: () => {
      isLost = true
    },
  }).catch((error: unknown) => {
    throw new CommandFailed(`${base} cannot be locked, which renewing a token needs: ${failureReason(error)}`)
  })
  return async () => {
    if (!isLost) await release().catch(() => undefined)
  }
}

export interface FormResponse {
  readonly status: number
  readonly body: unknown
}

/** Sends a form to the token service. Rejects with Unreachable. */
export async function postForm(
  url: string,
  fields: Readonly<Record<string, string | readonly string[] | undefined>>,
  bearer?: string,
): Promise<FormResponse> {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const one of [value ?? []].flat()) form.append(name, one)
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
  try {
    const response = await request(url, { method: 'POST', body: form, headers })
    return { status: response.status, body: parseJsonOrMessage(await response.text()) }
  } catch (error) {
    throw toUnreachable(url, error)
  }
}

/** What somebody else answers is no JSON, and then its beginning says who that is. */
export function parseJsonOrMessage(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { message: text.slice(0, 200).trim() || 'the answer is empty' }
  }
}

export function toUnreachable(url: string, cause: unknown): Unreachable {
  const why = failureReason(cause)
  const hint = /certificate/i.test(why)
    ? 'NODE_EXTRA_CA_CERTS names a file with the certificate to trust'
    : 'is it running, and is --api right?'
  return new Unreachable(`${new URL(url).host} cannot be reached (${why}); ${hint}`, { cause })
}

export function errorMessage(body: unknown): string {
  const { message, error_description: description, error } = (body ?? {}) as Record<string, unknown>
  return stripStatusPrefix(String(message ?? description ?? error ?? 'no reason was given'))
}

/** `Permission denied: …` in one line, without the words of the code, which the exit code says. */
export function stripStatusPrefix(message: string): string {
  return sanitizeText(/^[A-Z][a-z ]+: (.*)$/s.exec(message)?.[1] ?? message)
}
