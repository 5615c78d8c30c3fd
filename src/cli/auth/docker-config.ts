import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { UsageError } from '../client/invocation.ts'
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

/** Changes the file, which is replaced whole. Throws a UsageError for one that is not JSON, and leaves it alone. */
function changeDockerConfig(env: Environment, change: (config: DockerConfig) => void): string {
  const path = dockerConfigPath(env)
  let config: DockerConfig = {}
  if (existsSync(path)) {
    try {
      config = JSON.parse(readFileSync(path, 'utf8')) as DockerConfig
    } catch (error) {
      throw new UsageError(`${path} is not JSON, and was left as it is: ${(error as Error).message}`)
    }
  }
  change(config)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(config, undefined, '\t')}\n`, { mode: 0o600 })
  renameSync(draft, path)
  return path
}

export const HELPER = 'berth'

/** Docker asks `docker-credential-berth` about this host from now on. */
export function useHelper(env: Environment, registry: string): string {
  return changeDockerConfig(env, (config) => {
    config.credHelpers = { ...config.credHelpers, [registry]: HELPER }
    delete config.auths?.[registry]
  })
}

/** A pull token for this host, in place of an older one. */
export function savePullToken(env: Environment, registry: string, user: string, password: string): string {
  return changeDockerConfig(env, (config) => {
    config.auths = {
      ...config.auths,
      [registry]: { auth: Buffer.from(`${user}:${password}`).toString('base64') },
    }
    delete config.credHelpers?.[registry]
  })
}
