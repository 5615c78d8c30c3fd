import { type AuditSettings, auditSettings } from '../audit/settings.ts'
import { type AddressSettings, addressSettings } from '../config/addresses.ts'
import { type Environment, readSettings, type Setting } from '../config/setting.ts'
import { type GatewaySettings, gatewaySettings } from '../gateway/settings.ts'
import { type IamSettings, iamSettings } from '../iam/settings.ts'
import { type MailSettings, mailSettings } from '../mail/settings.ts'
import { type RateLimitSettings, rateLimitSettings } from '../pipeline/limits/settings.ts'
import { type PortSettings, portSettings } from '../port/settings.ts'
import { type RegistrySettings, registrySettings } from '../registry/settings.ts'
import { type SignInSettings, signInSettings } from '../signin/settings.ts'
import { type DatabaseSettings, databaseSettings } from '../storage/database-settings.ts'
import { type TelemetrySettings, telemetrySettings } from '../telemetry/settings.ts'
import { type TokenSettings, tokenSettings } from '../tokens/settings.ts'
import { type V1Settings, v1Settings } from '../v1/settings.ts'
import { type InstallationSettings, installationSettings } from './settings.ts'

/** The environment as a typed configuration: the settings that the rooms declare. */
export interface Config
  extends InstallationSettings,
    PortSettings,
    AddressSettings,
    DatabaseSettings,
    RegistrySettings,
    IamSettings,
    TokenSettings,
    SignInSettings,
    MailSettings,
    GatewaySettings,
    RateLimitSettings,
    AuditSettings,
    V1Settings,
    TelemetrySettings {}

/** In the order in which help and docs/operating.md show them. */
const groups = {
  installation: installationSettings,
  port: portSettings,
  addresses: addressSettings,
  database: databaseSettings,
  registry: registrySettings,
  iam: iamSettings,
  tokens: tokenSettings,
  signIn: signInSettings,
  mail: mailSettings,
  gateway: gatewaySettings,
  rateLimits: rateLimitSettings,
  audit: auditSettings,
  v1: v1Settings,
  telemetry: telemetrySettings,
}

/** Every setting of the server. */
export const settings: readonly Setting<unknown>[] = Object.values(groups).flatMap((group) => group.settings)

const names: ReadonlySet<string> = new Set(settings.map(({ name }) => name))

/** Names that the command line and the tests read; the server ignores them. */
const cliAndTestVariables = new Set([
  'BERTH_API',
  'BERTH_ISSUER',
  'BERTH_AUDIENCE',
  'BERTH_REGISTRY',
  'BERTH_TOKEN',
  'BERTH_CONFIG',
  'BERTH_PROFILE',
  'BERTH_OUTPUT',
  'BERTH_DEFAULT_GROUP',
  'BERTH_DEFAULT_IDENTITY_PROVIDER',
  'BERTH_DEFAULT_ORG_NAME',
  'BERTH_DEFAULT_CONNECTION',
  'BERTH_AUTH_MODE',
  'BERTH_AUTH_DEVICE_FLOW',
  'BERTH_ID_TOKEN',
  'BERTH_IDENTITY_ID',
  'BERTH_IDENTITY_TOKEN',
  'BERTH_GOLDEN',
  'BERTH_BACKUP_PASSPHRASE',
  'BERTH_BACKUP_S3_ENDPOINT',
  'BERTH_BACKUP_S3_REGION',
  'BERTH_BACKUP_S3_PATH_STYLE',
])

/** Returns the configuration, or every problem of the environment, a sentence each. */
export function readConfig(
  env: Environment,
): { readonly config: Config } | { readonly problems: readonly string[] } {
  const unknown = Object.keys(env)
    .filter((name) => name.startsWith('BERTH_') && !name.startsWith('BERTH_TEST_'))
    .filter((name) => !names.has(name) && !cliAndTestVariables.has(name))
    .map((name) => `${name} is not a setting of berth${suggestion(name)}`)
  const { values, problems } = readSettings(groups, env)
  if (unknown.length > 0 || problems.length > 0) return { problems: [...unknown, ...problems] }
  return { config: Object.assign({}, ...Object.values(values)) as Config }
}

/** Suggests the setting that was probably meant: one that differs in few letters. */
function suggestion(name: string): string {
  const letters = (text: string) => [...text].sort().join('')
  const near = [...names].find(
    (known) =>
      letters(known) === letters(name) ||
      known.startsWith(name) ||
      name.startsWith(known) ||
      known.replaceAll('_', '') === name.replaceAll('_', ''),
  )
  return near === undefined ? '; see berth serve --help' : `; did you mean ${near}?`
}
