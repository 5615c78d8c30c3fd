import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from '../client/invocation.ts'
import { replaceFile } from '../client/replace-file.ts'
import type { Environment } from '../client/settings.ts'

/** Docker's configuration file, of which others own the rest: what is not ours stays as it is. */

interface DockerConfig {
  credHelpers?: Record<string, string>
  auths?: Record<string, { auth?: string }>
  [other: string]: unknown
}

function dockerConfigPath(env: Environment): string {
  return join(env['DOCKER_CONFIG'] || join(env['HOME'] || homedir(), '.docker'), 'config.json')
}

/** Empty where there is no file. Throws a UsageError for one that is not JSON. */
function readDockerConfig(path: string): DockerConfig {
  if (!existsSync(path)) return {}
  try {
    const config: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (typeof config === 'object' && config !== null && !Array.isArray(config)) return config as DockerConfig
    throw new Error('it is not an object')
  } catch (error) {
    throw new UsageError(`${path} is not JSON, and was left as it is: ${(error as Error).message}`)
  }
}

/** Changes the file, which is replaced whole, or left alone when it cannot be read. */
function changeDockerConfig(env: Environment, change: (config: DockerConfig) => void): void {
  const path = dockerConfigPath(env)
  const config = readDockerConfig(path)
  change(config)
  replaceFile(path, `${JSON.stringify(config, undefined, '\t')}\n`)
}

export const HELPER = 'berth'

/** Docker asks `docker-credential-berth` about this host from now on. */
export function useHelper(env: Environment, registry: string): void {
  changeDockerConfig(env, (config) => {
    config.credHelpers = { ...config.credHelpers, [registry]: HELPER }
    delete config.auths?.[registry]
  })
}

/** A pull token for this host, in place of an older one. */
export function savePullToken(env: Environment, registry: string, user: string, password: string): void {
  changeDockerConfig(env, (config) => {
    config.auths = {
      ...config.auths,
      [registry]: { auth: Buffer.from(`${user}:${password}`).toString('base64') },
    }
    delete config.credHelpers?.[registry]
  })
}

/** What to say to somebody whose Docker does not know of the sign-in yet; undefined when it does, or there is no Docker. */
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
