import { readFileSync } from 'node:fs'
import { type Environment, resolveSettings, type Settings } from '../../config/settings.ts'
import { NotSignedIn } from '../access-token.ts'
import { getAccessToken } from '../current-token.ts'
import { decodeClaims, openTokenCache, remainingMs } from '../token-cache.ts'

/**
 * `docker-credential-berth`: Docker's protocol for credential helpers (docker/docker-credential-helpers). Provides credentials only for
 * the host of the registry (R34), with a token that is refreshed automatically.
 */

/** User name for a password that is a token. */
const TOKEN_USER = '_token'
/** The message that makes Docker continue without credentials. */
const NOT_FOUND = 'credentials not found in native keychain'

export async function runCredentialHelper(action: string | undefined, env: Environment): Promise<number> {
  try {
    return await handleAction(action, env)
  } catch (error) {
    process.stderr.write(`berth: ${(error as Error).message}\n`)
    return 1
  }
}

async function handleAction(action: string | undefined, env: Environment): Promise<number> {
  switch (action) {
    case 'get':
      return get(readFileSync(0, 'utf8').trim(), env)
    case 'list':
      return print(JSON.stringify(signedInHosts(env)))
    case 'store':
      // It must fail: otherwise docker login reports that the credentials are stored.
      readFileSync(0)
      process.stderr.write(
        'docker-credential-berth: docker login is not supported for this registry; run berth auth login\n',
      )
      return 1
    case 'erase':
      return erase(readFileSync(0, 'utf8').trim(), env)
    case 'version':
      return print('docker-credential-berth')
    default:
      process.stderr.write(
        'docker-credential-berth: usage: docker-credential-berth get|store|erase|list (called by Docker)\n',
      )
      return 2
  }
}

function print(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}

/** Deletes the stored token of the registry. The sign-in stays; berth auth logout ends it. */
function erase(server: string, env: Environment): number {
  const { registry } = resolveSettings(env, {})
  if (hostOf(server) === registry) openTokenCache(env).remove('oidc-token', registry)
  return 0
}

async function get(server: string, env: Environment): Promise<number> {
  const settings = resolveSettings(env, {})
  if (hostOf(server) !== settings.registry) return print(NOT_FOUND) + 1
  try {
    const secret = await getRegistryToken(settings, env)
    return print(JSON.stringify({ ServerURL: server, Username: TOKEN_USER, Secret: secret }))
  } catch (error) {
    if (!(error instanceof NotSignedIn)) throw error
    process.stderr.write(`berth: ${error.message}\n`)
    return print(NOT_FOUND) + 1
  }
}

/** Returns a token for the registry from the same session as the API token. */
export async function getRegistryToken(settings: Settings, env: Environment): Promise<string> {
  return getAccessToken({ settings, cache: openTokenCache(env), env }, settings.registry)
}

function hostOf(server: string): string {
  const isAddress = URL.canParse(server) && /^https?:/i.test(server)
  return (isAddress ? new URL(server).host : (server.split('/')[0] ?? '')).toLowerCase()
}

function signedInHosts(env: Environment): Record<string, string> {
  const { registry } = resolveSettings(env, {})
  const isOurs = openTokenCache(env)
    .all('oidc-token')
    .some((token) => remainingMs(token) > 0 && [decodeClaims(token)['aud']].flat().includes(registry))
  return isOurs ? { [registry]: TOKEN_USER } : {}
}
