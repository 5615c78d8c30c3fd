import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from './settings.ts'
import { remainingMs, type TokenCache } from './token-cache.ts'

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
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** A token is renewed when less than this is left of it. */
const MARGIN_MS = 60_000

function goodToken(cache: TokenCache, audience: string, marginMs = MARGIN_MS): string | undefined {
  const token = cache.read('oidc-token', audience)
  return remainingMs(token) > marginMs ? token : undefined
}

export interface TokenSource {
  readonly settings: Settings
  readonly cache: TokenCache
}

/** Rejects with NotSignedIn when there is no token and none can be got without asking anybody. */
export async function tokenFor(source: TokenSource, audience = source.settings.audience): Promise<string> {
  const { settings, cache } = source
  if (settings.token !== '') return settings.token
  const known = goodToken(cache, audience)
  if (known !== undefined) return known
  const renewed = await renew(source, audience)
  if (renewed !== undefined) return renewed
  throw new NotSignedIn(`you are not signed in to ${settings.issuer}: run berth auth login`)
}

/** The key in the cache under which the refresh token of a server is kept: it is good for every audience of the session. */
const refreshKey = ({ settings }: TokenSource) => settings.audience

/**
 * A new access token by the refresh token, which that uses up. Of several programs that want one at once, one asks and the others
 * find what it got: a refresh token that comes twice ends the session.
 */
export async function renew(source: TokenSource, audience: string): Promise<string | undefined> {
  const { cache, settings } = source
  const key = refreshKey(source)
  if (remainingMs(cache.read('refresh-token', key)) === 0) return undefined
  const { lock } = await import('proper-lockfile')
  mkdirSync(cache.base, { recursive: true, mode: 0o700 })
  const release = await lock(cache.base, {
    lockfilePath: join(cache.base, 'refresh.lock'),
    stale: 15_000,
    retries: { retries: 100, minTimeout: 50, maxTimeout: 250 },
  })
  try {
    const made = goodToken(cache, audience)
    if (made !== undefined) return made
    const token = cache.read('refresh-token', key)
    if (token === undefined || remainingMs(token) === 0) return undefined
    const reply = await postForm(`${settings.issuer}/sts/exchange_refresh_token`, { aud: audience }, token)
    if (reply.status !== 200) {
      // Only what says that it will never be good again ends the sign-in here.
      if (reply.status === 401 || reply.status === 403) cache.remove('refresh-token', key)
      if (reply.status >= 500) throw new Refused(`the token could not be renewed: ${messageOf(reply.body)}`)
      return undefined
    }
    const pair = reply.body as {
      readonly token?: { readonly token?: string }
      readonly refreshToken?: { readonly token?: string }
    }
    if (pair.refreshToken?.token) cache.write('refresh-token', pair.refreshToken.token, key)
    if (pair.token?.token) cache.write('oidc-token', pair.token.token, audience)
    return pair.token?.token
  } finally {
    await release()
  }
}

export interface FormReply {
  readonly status: number
  readonly body: unknown
}

/** Sends a form to the token service. Rejects with Unreachable. */
export async function postForm(
  url: string,
  fields: Readonly<Record<string, string | readonly string[] | undefined>>,
  bearer?: string,
): Promise<FormReply> {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const one of [value ?? []].flat()) form.append(name, one)
  try {
    const response = await fetch(url, {
      method: 'POST',
      body: form,
      redirect: 'error',
      headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
    })
    const text = await response.text()
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      body = { message: text.slice(0, 200) }
    }
    return { status: response.status, body }
  } catch (error) {
    throw unreachable(url, error)
  }
}

export function unreachable(url: string, cause: unknown): Unreachable {
  const { host } = new URL(url)
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const why = inner instanceof Error ? inner.message || (inner as NodeJS.ErrnoException).code : String(inner)
  return new Unreachable(`${host} cannot be reached (${why}); is it running, and is --api right?`, { cause })
}

export function messageOf(body: unknown): string {
  const { message, error_description: description, error } = (body ?? {}) as Record<string, unknown>
  return String(message ?? description ?? error ?? 'no reason was given')
}
