import { readFileSync } from 'node:fs'
import { NotSignedIn, tokenFor } from '../client/session.ts'
import { type Environment, resolveSettings, type Settings } from '../client/settings.ts'
import { claimsOf, tokenCache } from '../client/token-cache.ts'

/**
 * `docker-credential-berth`: Docker's protocol for credential helpers (docker/docker-credential-helpers). It answers for the host of
 * the registry alone (R34), with a token that is renewed without a word.
 */

/** User name that says: the password is a token. */
const TOKEN_USER = '_token'
/** What Docker takes for "there is nothing for this host": it then asks without credentials. */
const NOT_FOUND = 'credentials not found in native keychain'

export async function credentialHelper(action: string | undefined, env: Environment): Promise<number> {
  switch (action) {
    case 'get':
      return get(readFileSync(0, 'utf8').trim(), env)
    case 'list':
      return print(JSON.stringify(signedInHosts(env)))
    case 'store':
    case 'erase':
      // Tokens come from berth auth login and go with berth auth logout; docker login has nothing to add.
      readFileSync(0)
      return 0
    case 'version':
      return print('docker-credential-berth')
    default:
      process.stderr.write('docker-credential-berth: one of get, store, erase, list; Docker calls it\n')
      return 2
  }
}

function print(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}

async function get(server: string, env: Environment): Promise<number> {
  const settings = resolveSettings(env, {})
  const host = hostOf(server)
  if (host !== settings.registry) return print(NOT_FOUND) + 1
  try {
    const secret = await registryToken(settings, env)
    return print(JSON.stringify({ ServerURL: server, Username: TOKEN_USER, Secret: secret }))
  } catch (error) {
    process.stderr.write(`berth: ${(error as Error).message}\n`)
    return error instanceof NotSignedIn ? print(NOT_FOUND) + 1 : 1
  }
}

/** A token for the registry. One for the API was signed in for; the registry's comes of the same session. */
export async function registryToken(settings: Settings, env: Environment): Promise<string> {
  return tokenFor({ settings, cache: tokenCache(env) }, settings.registry)
}

function hostOf(server: string): string {
  return URL.canParse(server) && /^https?:/.test(server) ? new URL(server).host : (server.split('/')[0] ?? '')
}

function signedInHosts(env: Environment): Record<string, string> {
  const { registry } = resolveSettings(env, {})
  const isOurs = tokenCache(env)
    .all()
    .some(({ token }) => [claimsOf(token)['aud']].flat().includes(registry))
  return isOurs ? { [registry]: TOKEN_USER } : {}
}
