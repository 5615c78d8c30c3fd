import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../invocation/invocation.ts'
import { loadYaml } from '../output/yaml.ts'
import { parsePlainConfig } from './plain-config.ts'
import { configDirectory } from './user-directories.ts'

/**
 * Settings of the command line, by precedence: flags, environment, the current profile of the configuration file, defaults.
 */

export interface Settings {
  /** URL of the API and of the token service, audience of tokens, host of the registry. */
  readonly api: string
  readonly issuer: string
  readonly audience: string
  readonly registry: string
  readonly profile: string
  /** BERTH_TOKEN; '' if not set. */
  readonly token: string
  /** All properties by their name in the file. */
  readonly properties: Readonly<Record<string, string>>
}

export const DEFAULT_API = 'http://127.0.0.1:8080'
export const DEFAULT_PROFILE = 'default'

/** The properties of a profile, with their help. */
export const properties = {
  api: 'API URL',
  issuer: 'token service URL (default: the API)',
  audience: 'token audience (default: the API)',
  registry: 'registry host (default: host of the API)',
  'default.group': 'organization or folder used if none is given',
  'default.identity-provider': 'uid of the identity provider for sign-in',
  'default.org-name': 'organization whose identity provider is used for sign-in',
  'default.connection': 'name of the sign-in provider of the installation',
  'auth.mode': 'browser (default) or headless',
  'auth.device-flow': 'flow of headless sign-in: oauth (default) or platform',
  output: 'output format: table, json, …',
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

/** The configuration file: the current profile and all profiles. */
export interface ConfigFile {
  readonly profile: string
  readonly profiles: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Values of the global flags. */
export interface Flags {
  readonly api?: string
  readonly issuer?: string
  /** An array for commands that define their own repeatable flag; ignored here. */
  readonly audience?: string | readonly string[]
  readonly config?: string
  readonly profile?: string
}

export function configPath(env: Environment, flags: Pick<Flags, 'config'> = {}): string {
  const own = flags.config || env['BERTH_CONFIG']
  if (own) return own
  return join(configDirectory(env), 'berth', 'config.yaml')
}

/** Reads the file; returns an empty configuration if there is none. Throws a UsageError if the file is invalid. */
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
    throw new UsageError(`${path} must have the members profile and profiles; see berth config --help`)
  for (const [name, given] of Object.entries(profiles)) {
    for (const [property, text] of Object.entries(given ?? {})) {
      const problem = propertyProblem(property, String(text))
      if (problem !== undefined) throw new UsageError(`${path}: ${name}.${property} ${problem}`)
    }
  }
  return { profile, profiles }
}

/** Describes what is wrong with a property; undefined if it is valid. */
export function propertyProblem(name: string, value: string): string | undefined {
  if (!Object.hasOwn(properties, name))
    return `is not a property; use one of ${Object.keys(properties).join(', ')}`
  const property = name as Property
  if (urlProperties.includes(property) && parseOrigin(value) === undefined)
    return 'must be a URL without a path, such as https://berth.example.com'
  const allowed = allowedValues[property]
  return allowed === undefined || allowed.includes(value) ? undefined : `must be one of ${allowed.join(', ')}`
}

/** `default.group` is BERTH_DEFAULT_GROUP. */
function environmentVariable(property: string): string {
  return `BERTH_${property.toUpperCase().replaceAll(/[.-]/g, '_')}`
}

/** Resolves the effective settings. Throws a UsageError for invalid values, and for an unknown profile unless `mayBeNew`. */
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
      `profile ${JSON.stringify(profile)} not found; create it with berth config use ${profile}`,
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
        `${property}: ${JSON.stringify(text)} must be a URL without a path, such as https://berth.example.com`,
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
