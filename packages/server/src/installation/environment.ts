import { readFileSync } from 'node:fs'
import { type Config, readConfig } from './config.ts'
import { parseSettingsFile } from './settings-file.ts'

/** The environment of the server: variables of the process, and those of the file BERTH_ENV_FILE that the process does not have. */

type Environment = Readonly<Record<string, string | undefined>>

/** The variables of the process, before those of the file are added. */
const processEnvironment: Environment = { ...process.env }

export type EnvironmentResult =
  | { readonly env: Environment; readonly config: Config }
  | { readonly problems: readonly string[] }

/** Reads the file again with each call. Returns the configuration, or everything that is wrong, a sentence each. */
export function readEnvironment(): EnvironmentResult {
  const file = processEnvironment['BERTH_ENV_FILE'] ?? ''
  const env = file === '' ? processEnvironment : mergeSettingsFile(file)
  if (typeof env === 'string') return { problems: [env] }
  const read = readConfig(env)
  if ('problems' in read)
    return { problems: read.problems.map((problem) => (file === '' ? problem : `${problem} (${file})`)) }
  // Libraries read their own variables, such as AWS_REGION.
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] ??= value
  return { env, config: read.config }
}

function mergeSettingsFile(file: string): Environment | string {
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
