import { readFileSync } from 'node:fs'
import { type Config, readConfig } from './config.ts'
import { parseSettingsFile } from './settings-file.ts'

/** The environment of the server: variables of the process, and those of the file BERTH_ENV_FILE that the process does not have. */

type Environment = Readonly<Record<string, string | undefined>>

/** Names of the variables in `process.env` that come from a file. */
const namesFromFile = new Set<string>()

export type EnvironmentResult =
  | { readonly env: Environment; readonly config: Config }
  | { readonly problems: readonly string[] }

/** Reads the file again with each call. Returns the configuration, or everything that is wrong, a sentence each. */
export function readEnvironment(): EnvironmentResult {
  const processEnvironment = ownEnvironment()
  const file = processEnvironment['BERTH_ENV_FILE'] ?? ''
  const env = file === '' ? processEnvironment : mergeSettingsFile(file, processEnvironment)
  if (typeof env === 'string') return { problems: [env] }
  const read = readConfig(env)
  if ('problems' in read)
    return { problems: read.problems.map((problem) => (file === '' ? problem : `${problem} (${file})`)) }
  exportVariables(env)
  return { env, config: read.config }
}

/**
 * Reads the environment that another process of this server started with, and takes over its variables. Settings that take effect with a
 * restart only are then the same in both, even if the file has changed.
 */
export function adoptEnvironment(env: Environment): EnvironmentResult {
  exportVariables(env)
  const read = readConfig(env)
  return 'problems' in read ? read : { env, config: read.config }
}

/** Libraries read their own variables, such as AWS_REGION. */
function exportVariables(env: Environment): void {
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || process.env[name] !== undefined) continue
    process.env[name] = value
    namesFromFile.add(name)
  }
}

/** The variables that the process was started with. */
export function ownEnvironment(): Environment {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !namesFromFile.has(name)))
}

function mergeSettingsFile(file: string, processEnvironment: Environment): Environment | string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    return `BERTH_ENV_FILE cannot be read: ${(error as Error).message}`
  }
  const read = parseSettingsFile(text)
  return 'problems' in read
    ? `BERTH_ENV_FILE ${file}: ${read.problems.join('; ')}`
    : { ...read.settings, ...processEnvironment }
}
