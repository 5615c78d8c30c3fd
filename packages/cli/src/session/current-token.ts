import type { Settings } from '../config/settings.ts'
import {
  NotSignedIn,
  refreshAccessToken,
  type TokenSource,
  toUnreachable,
  Unreachable,
} from './access-token.ts'
import { request } from './http.ts'
import { findValidToken, remainingMs } from './token-cache.ts'

/**
 * Provides the token for an audience: BERTH_TOKEN, the stored token, a new one from the refresh token, or one in exchange for the token
 * of the API or of the workload.
 */

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
  return exchangeStoredSignIn(source, audience)
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

async function exchangeStoredSignIn(source: TokenSource, audience: string): Promise<string> {
  const { settings } = source
  const { exchangeForAudience, findWorkloadLogin } = await import('./sign-in/workload.ts')
  const login = findWorkloadLogin(source)
  const again =
    login === undefined
      ? 'run berth auth login'
      : `run berth auth login --identity ${login.identity} --identity-token FILE with a valid token`
  const exchanged = await exchangeForAudience(source, audience).catch((error: unknown) => {
    if (error instanceof Unreachable) throw error
    throw new NotSignedIn(`no token for ${audience} can be obtained: ${(error as Error).message}; ${again}`, {
      cause: error,
    })
  })
  if (exchanged !== undefined) return exchanged
  throw new NotSignedIn(
    login === undefined
      ? `you are not signed in to ${settings.issuer}: ${again}`
      : `the sign-in as ${login.identity} has expired: ${again}`,
  )
}
