import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../invocation/invocation.ts'
import { loadYaml } from '../output/yaml.ts'
import { parsePlainConfig } from './plain-config.ts'
import { configDirectory } from './user-directories.ts'

/**
 * Where the command line finds its server: flags, then the environment, then the profile of the configuration file that is in use,
 * then this machine.
 */

export interface Settings {
  /** Address of the API, of the token service, of the registry's host, and what tokens are for. */
  readonly api: string
  readonly issuer: string
  readonly audience: string
  readonly registry: string
  readonly profile: string
  /** A token that is used as it is; '' for none. */
  readonly token: string
  /** Every other property, by its name in the file. */
  readonly properties: Readonly<Record<string, string>>
}

export const DEFAULT_API = 'http://127.0.0.1:8080'
export const DEFAULT_PROFILE = 'default'

/** What a profile may say, and what for. */
export const properties = {
  api: 'address of the API',
  issuer: 'address of the token service (default: the API)',
  audience: 'what tokens are for (default: the API)',
  registry: "the registry's host (default: the API's)",
  'default.group': 'the organization or folder where none is named',
  'default.identity-provider': 'uid of the identity provider to sign in with',
  'default.org-name': 'the organization whose identity provider to sign in with',
  'default.connection': "name of the operator's provider to sign in with",
  'auth.mode': 'browser (default) or headless',
  'auth.device-flow': 'oauth (default) or platform, for headless sign-in',
  output: 'format of answers: table, json, …',
} as const
export type Property = keyof typeof properties

export const formats = ['table', 'wide', 'tree', 'json', 'yaml', 'csv', 'id', 'none'] as const
export type Format = (typeof formats)[number]

const urlProperties: readonly Property[] = ['api', 'issuer']
const allowedValues: Readonly<Partial<Record<Property, readonly string[]>>> = {
  'auth.mode': ['browser', 'headless'],
  'auth.device-flow': ['oauth', 'platform'],
  output: formats,
}

/** The configuration file: its profiles, and which of them is in use. */
export interface ConfigFile {
  readonly profile: string
  readonly profiles: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** What the program was started with. */
export type Environment = Readonly<Record<string, string | undefined>>

/** What the command line's own flags say. */
export interface Flags {
  readonly api?: string
  readonly issuer?: string
  /** Several for commands that have a flag of their own for them; these do not count here. */
  readonly audience?: string | readonly string[]
  readonly config?: string
  readonly profile?: string
}

export function configPath(env: Environment, flags: Pick<Flags, 'config'> = {}): string {
  const own = flags.config || env['BERTH_CONFIG']
  if (own) return own
  return join(configDirectory(env), 'berth', 'config.yaml')
}

/** The file, empty where there is none. Throws a UsageError for one that cannot be read. */
export function readConfigFile(path: string): ConfigFile {
  if (!existsSync(path)) return { profile: DEFAULT_PROFILE, profiles: {} }
  let value: unknown
  try {
    const text = readFileSync(path, 'utf8')
    value = parsePlainConfig(text) ?? loadYaml().parse(text) ?? {}
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`)
  }
  const { profile = DEFAULT_PROFILE, profiles = {} } = value as Partial<ConfigFile>
  const isText = typeof profile === 'string' && typeof profiles === 'object' && profiles !== null
  if (!isText || Array.isArray(profiles) || typeof value !== 'object' || Array.isArray(value))
    throw new UsageError(`${path} must have a profile and profiles; see berth config --help`)
  for (const [name, given] of Object.entries(profiles)) {
    for (const [property, text] of Object.entries(given ?? {})) {
      const problem = propertyProblem(property, String(text))
      if (problem !== undefined) throw new UsageError(`${path}: ${name}.${property} ${problem}`)
    }
  }
  return { profile, profiles }
}

/** What is wrong with a property, or undefined. */
export function propertyProblem(name: string, value: string): string | undefined {
  if (!Object.hasOwn(properties, name))
    return `is not a property; there are ${Object.keys(properties).join(', ')}`
  const property = name as Property
  if (urlProperties.includes(property) && parseOrigin(value) === undefined)
    return 'must be an address such as https://berth.example.com'
  const allowed = allowedValues[property]
  return allowed === undefined || allowed.includes(value) ? undefined : `must be one of ${allowed.join(', ')}`
}

/** `default.group` is BERTH_DEFAULT_GROUP. */
function environmentVariable(property: string): string {
  return `BERTH_${property.toUpperCase().replaceAll(/[.-]/g, '_')}`
}

/** Throws a UsageError for what cannot be right, a profile that does not exist included unless it `mayBeNew`. */
export function resolveSettings(
  env: Environment,
  flags: Flags,
  { mayBeNew: allowNewProfile = false } = {},
): Settings {
  const file = readConfigFile(configPath(env, flags))
  const profile = flags.profile || env['BERTH_PROFILE'] || file.profile
  const own = file.profiles[profile]
  if (own === undefined && profile !== DEFAULT_PROFILE && !allowNewProfile)
    throw new UsageError(
      `there is no profile ${JSON.stringify(profile)}; make it: berth config use ${profile}`,
    )
  const fromFlags: Readonly<Record<string, string | undefined>> = {
    api: flags.api,
    issuer: flags.issuer,
    audience: typeof flags.audience === 'string' ? flags.audience : undefined,
  }
  const all: Record<string, string> = {}
  for (const property of Object.keys(properties)) {
    const value = fromFlags[property] || env[environmentVariable(property)] || own?.[property]
    if (value !== undefined && value !== '') all[property] = String(value)
  }
  const address = (property: 'api' | 'issuer', preset: string) => {
    const text = all[property] || preset
    const parsed = parseOrigin(text)
    if (parsed === undefined)
      throw new UsageError(
        `${property}: ${JSON.stringify(text)} must be an address such as https://berth.example.com`,
      )
    return parsed
  }
  const api = address('api', DEFAULT_API)
  return {
    api,
    issuer: address('issuer', api),
    audience: all['audience'] || api,
    registry: all['registry'] ?? new URL(api).host,
    profile,
    token: env['BERTH_TOKEN'] ?? '',
    properties: all,
  }
}

function parseOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, origin, pathname } = new URL(text)
  return (protocol === 'http:' || protocol === 'https:') && pathname === '/' ? origin : undefined
}
