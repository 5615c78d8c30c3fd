import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../config/settings.ts'
import { sanitizeText } from '../output/text-width.ts'
import { failureReason, request } from './http.ts'
import { findValidToken, remainingMs, type TokenCache } from './token-cache.ts'

/** Provides the token for an audience: BERTH_TOKEN, the stored token, or a new one from the refresh token. */

/** There is no valid token: exit code 4. */
export class NotSignedIn extends Error {
  override readonly name = 'NotSignedIn'
}

/** The server is unreachable: exit code 3. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** The server rejected the request: exit code 1. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
}

export interface TokenSource {
  readonly settings: Settings
  readonly cache: TokenCache
}

/** Rejects with NotSignedIn if there is no valid token and none can be refreshed. */
export async function getAccessToken(
  source: TokenSource,
  audience = source.settings.audience,
): Promise<string> {
  const { settings, cache } = source
  if (settings.token !== '') return settings.token
  const known = findValidToken(cache, audience)
  if (known !== undefined) return known
  const renewed = await refreshAccessToken(source, audience).catch((error: unknown) => {
    // The old token may still be valid for a while.
    const old = cache.read('oidc-token', audience)
    if (error instanceof Unreachable && old !== undefined && remainingMs(old) > 0) return old
    throw error
  })
  if (renewed !== undefined) return renewed
  throw new NotSignedIn(notSignedInMessage(source, audience))
}

/** As getAccessToken, but a caller who is not signed in learns first whether the server is reachable. */
export async function requireAccessToken(
  source: TokenSource,
  audience = source.settings.audience,
): Promise<string> {
  try {
    return await getAccessToken(source, audience)
  } catch (error) {
    if (error instanceof NotSignedIn) await requireReachable(source.settings)
    throw error
  }
}

/** Timeout of the request that checks whether the server is reachable. */
const PROBE_TIMEOUT_MS = 5000

/** Rejects with Unreachable. */
async function requireReachable({ api }: Settings): Promise<void> {
  const url = `${api}/healthz`
  try {
    await request(url, {}, PROBE_TIMEOUT_MS)
  } catch (error) {
    throw toUnreachable(url, error)
  }
}

function notSignedInMessage({ settings, cache }: TokenSource, audience: string): string {
  const isOther = audience !== settings.audience && findValidToken(cache, settings.audience) !== undefined
  return isOther
    ? `you are not signed in for ${audience}: run berth auth login --audience ${settings.audience} --audience ${audience}`
    : `you are not signed in to ${settings.issuer}: run berth auth login`
}

/** Cache key of the refresh token of a server, which is shared by all audiences. */
export function refreshTokenKey({ api }: Pick<Settings, 'api'>): string {
  return api
}

/** A lock that is not renewed for this long belongs to a process that has ended. */
const LOCK_STALE_MS = 15_000

/**
 * Exchanges the refresh token, which can be used once, for a new access token. A lock serializes concurrent processes, because reuse of
 * a refresh token ends the session. Returns undefined if there is no valid refresh token.
 * `force`: also if the stored token is valid, unless another process has just refreshed it.
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
        throw new Unreachable(`the token cannot be refreshed now: ${errorMessage(reply.body)}`)
      // Only a permanent failure deletes the refresh token.
      if (reply.status === 401 || reply.status === 403) cache.remove('refresh-token', key)
      return undefined
    }
    const pair = reply.body as {
      readonly token?: { readonly token?: string }
      readonly refreshToken?: { readonly token?: string }
    }
    // First the refresh token, which cannot be requested again.
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
    // The machine was suspended: the response is still valid.
    onCompromised: () => {
      isLost = true
    },
  }).catch((error: unknown) => {
    throw new CommandFailed(`${base} cannot be locked to refresh the token: ${failureReason(error)}`)
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

/** Parses JSON; returns the start of any other text as a message. */
export function parseJsonOrMessage(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { message: text.slice(0, 200).trim() || 'the response is empty' }
  }
}

export const unreachableHint =
  'check that the server is running; to use another one, give its URL with --api, BERTH_API or berth config set api URL'

export function toUnreachable(url: string, cause: unknown): Unreachable {
  const why = failureReason(cause)
  const hint = /certificate/i.test(why)
    ? 'to trust the certificate, set NODE_EXTRA_CA_CERTS to its file'
    : unreachableHint
  return new Unreachable(`${new URL(url).origin} cannot be reached (${why})\n${hint}`, { cause })
}

export function errorMessage(body: unknown): string {
  const { message, error_description: description, error } = (body ?? {}) as Record<string, unknown>
  return stripStatusPrefix(String(message ?? description ?? error ?? 'no reason given'))
}

/** Returns a message in one line without its status prefix, such as `Permission denied: `. */
export function stripStatusPrefix(message: string): string {
  return sanitizeText(/^[A-Z][a-z ]+: (.*)$/s.exec(message)?.[1] ?? message)
}
