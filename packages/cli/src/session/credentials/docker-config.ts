import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { replaceFile } from '../../config/replace-file.ts'
import type { Environment } from '../../config/settings.ts'
import { UsageError } from '../../invocation/invocation.ts'
import type { Credentials } from '../../oci-client/registry/token.ts'

/** Reads and changes Docker's configuration file; members of other programs are preserved. */

interface DockerConfig {
  credHelpers?: Record<string, string>
  credsStore?: string
  auths?: Record<string, { auth?: string; username?: string; password?: string; identitytoken?: string }>
  [other: string]: unknown
}

function dockerConfigPath(env: Environment): string {
  return join(env['DOCKER_CONFIG'] || join(env['HOME'] || homedir(), '.docker'), 'config.json')
}

/** Returns an empty configuration if there is no file. Throws a UsageError if it is not JSON. */
function readDockerConfig(path: string): DockerConfig {
  if (!existsSync(path)) return {}
  try {
    const config: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (typeof config === 'object' && config !== null && !Array.isArray(config)) return config as DockerConfig
    throw new Error('it is not an object')
  } catch (error) {
    throw new UsageError(`${path} is not JSON; it was not changed: ${(error as Error).message}`)
  }
}

/** Replaces the file atomically. Throws without changing it if it is invalid. */
function updateDockerConfig(env: Environment, change: (config: DockerConfig) => void): void {
  const path = dockerConfigPath(env)
  const config = readDockerConfig(path)
  change(config)
  replaceFile(path, `${JSON.stringify(config, undefined, '\t')}\n`)
}

export const HELPER_NAME = 'berth'

/** Configures Docker to use `docker-credential-berth` for this host. */
export function configureHelper(env: Environment, registry: string): void {
  updateDockerConfig(env, (config) => {
    config.credHelpers = { ...config.credHelpers, [registry]: HELPER_NAME }
    delete config.auths?.[registry]
  })
}

/** Saves a pull token for this host, replacing an older one. */
export function savePullToken(env: Environment, registry: string, user: string, password: string): void {
  updateDockerConfig(env, (config) => {
    config.auths = {
      ...config.auths,
      [registry]: { auth: Buffer.from(`${user}:${password}`).toString('base64') },
    }
    delete config.credHelpers?.[registry]
  })
}

/** Returns a hint if Docker is not yet configured for the registry; undefined otherwise. */
export function dockerHint(env: Environment, registry: string): string | undefined {
  const path = dockerConfigPath(env)
  try {
    const { credHelpers, auths } = readDockerConfig(path)
    const isKnown = credHelpers?.[registry] !== undefined || auths?.[registry] !== undefined
    return isKnown ? undefined : 'To let Docker use this sign-in: berth auth configure-docker'
  } catch {
    return undefined
  }
}

/** Returns the credentials that Docker would use for a registry with one of these names: from a helper, a store or the file. */
export async function findDockerCredentials(
  env: Environment,
  names: readonly string[],
): Promise<Credentials | undefined> {
  const { credHelpers = {}, credsStore, auths = {} } = readDockerConfig(dockerConfigPath(env))
  for (const name of names) {
    const helper = credHelpers[name] ?? credsStore
    const held = helper === undefined ? undefined : await runHelper(env, helper, name)
    const known = held ?? parseAuthEntry(auths[name])
    if (known !== undefined) return known
  }
  return undefined
}

function parseAuthEntry(
  entry: NonNullable<DockerConfig['auths']>[string] | undefined,
): Credentials | undefined {
  if (entry === undefined) return undefined
  const { auth = '', username = '', password = '', identitytoken = '' } = entry
  if (identitytoken !== '') return { identityToken: identitytoken }
  if (username !== '') return { user: username, password }
  const [, user, secret] = /^([^:]*):([\s\S]*)$/.exec(Buffer.from(auth, 'base64').toString('utf8')) ?? []
  return user === undefined || secret === undefined
    ? undefined
    : { user, password: secret.replace(/\0+$/, '') }
}

/** User name of helpers for a password that is an identity token. */
const IDENTITY_TOKEN_USER = '<token>'

/** Runs `docker-credential-<name>`. Returns undefined if it has no credentials or is not installed. */
async function runHelper(env: Environment, helper: string, server: string): Promise<Credentials | undefined> {
  if (!/^[\w.-]+$/.test(helper))
    throw new UsageError(`${JSON.stringify(helper)} is not a valid name of a credential helper`)
  const child = spawn(`docker-credential-${helper}`, ['get'], {
    env: { ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  child.stdin.on('error', () => undefined).end(`${server}\n`)
  try {
    const [code] = await once(child, 'close')
    if (code !== 0) return undefined
    const { Username: user = '', Secret: password = '' } = JSON.parse(output) as Record<string, string>
    if (password === '') return undefined
    return user === IDENTITY_TOKEN_USER ? { identityToken: password } : { user, password }
  } catch {
    return undefined
  }
}
