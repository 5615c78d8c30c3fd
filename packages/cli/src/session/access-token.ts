import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment, Settings } from '../config/settings.ts'
import { sanitizeText } from '../output/text-width.ts'
import { type DirectoryLock, type LockLimits, lockDirectory } from './directory-lock.ts'
import { failureReason, request } from './http.ts'
import { findValidToken, remainingMs, type TokenCache } from './token-cache.ts'

/** Refreshes tokens, and sends requests to the token service. */

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
  readonly env: Environment
}

/** Cache key of the refresh token of a server, which is shared by all audiences. */
export function refreshTokenKey({ api }: Pick<Settings, 'api'>): string {
  return api
}

const refreshLockLimits: LockLimits = { staleMs: 15_000, waitMs: 45_000 }

/**
 * Exchanges the refresh token, which can be used once, for a new access token. A lock serializes concurrent processes, because reuse of
 * a refresh token ends the session. Returns undefined if there is no valid refresh token.
 * `force`: also if the stored token is valid, unless another process has just refreshed it.
 */
export async function refreshAccessToken(
  source: Pick<TokenSource, 'settings' | 'cache'>,
  audience: string,
  { force = false } = {},
): Promise<string | undefined> {
  const { cache, settings } = source
  const key = refreshTokenKey(settings)
  if (remainingMs(cache.read('refresh-token', key)) === 0) return undefined
  const before = cache.read('oidc-token', audience)
  const lock = await acquireLock(cache.directory)
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
    lock.release()
  }
}

async function acquireLock(base: string): Promise<DirectoryLock> {
  try {
    mkdirSync(base, { recursive: true, mode: 0o700 })
    return await lockDirectory(join(base, 'refresh.lock'), refreshLockLimits)
  } catch (error) {
    throw new CommandFailed(`${base} cannot be locked to refresh the token: ${failureReason(error)}`)
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
