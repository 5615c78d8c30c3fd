import { parseResourceLimit, type ResourceLimits, resourceKinds } from '../api/resource-limits.ts'
import { booleanSetting, listSetting, type SettingGroup, setting } from '../config/setting.ts'
import { originExpected, parseOrigin } from '../config/setting-values.ts'
import type { CloudSettings } from './cloud/probes.ts'

export interface IamSettings {
  readonly openOrganizations: boolean
  /** Owners hold the capabilities of the role `catalog.admin`. */
  readonly ownersManageCatalog: boolean
  /** How many resources of a kind an organization may hold that has no limit of its own. */
  readonly resourceLimits: ResourceLimits
  /** Domains, besides those of public mail providers, that do not show which organization a user belongs to. */
  readonly blockedEmailDomains: readonly string[]
  readonly clouds: CloudSettings
  /** Whether operators can use the operator API. */
  readonly operatorApi: boolean
}

const openOrganizations = booleanSetting('BERTH_OPEN_ORGANIZATIONS', {
  help: '`true`: every signed-in identity may create an organization',
  fallback: false,
})
const ownersManageCatalog = booleanSetting('BERTH_OWNERS_MANAGE_CATALOG', {
  help: '`true`: owners may do in their groups what the role `catalog.admin` permits',
  fallback: false,
})
const resourceLimits = listSetting('BERTH_RESOURCE_LIMITS', {
  help: 'how many resources of a kind an organization may hold, such as `groups=100,identities=500`',
  default: 'no limits',
  expected: `KIND=NUMBER, where KIND is one of ${resourceKinds.join(', ')}`,
  parse(item) {
    const limit = parseResourceLimit(item)
    return limit?.n === undefined ? undefined : ([limit.kind, limit.n] as const)
  },
})
const blockedEmailDomains = listSetting('BERTH_BLOCKED_EMAIL_DOMAINS', {
  help: 'email domains, separated by commas, by which no organization is found, besides those of public mail providers',
  expected: 'a domain such as example.com',
  parse: (item) => (/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(item) ? item.toLowerCase() : undefined),
})
const operatorApi = booleanSetting('BERTH_OPERATOR_API', {
  help: '`false`: the [operator API](#operator-api) and its pages are disabled; only `berth admin` administers the server',
  fallback: true,
})
const endpoint = (name: string, help: string, fallback: string) =>
  setting(name, { help, default: `\`${fallback}\``, expected: originExpected, parse: parseOrigin, fallback })
const awsStsEndpoint = endpoint(
  'BERTH_AWS_STS_ENDPOINT',
  'token service of Amazon, which checks of account associations ask',
  'https://sts.amazonaws.com',
)
const awsRole = setting('BERTH_AWS_ROLE', {
  help: 'role that these checks assume in an account, with its path',
  default: '`berth`',
  expected: 'the name of a role, with its path if it has one',
  parse: parseAwsRole,
  fallback: 'berth',
})
const googleStsEndpoint = endpoint(
  'BERTH_GOOGLE_STS_ENDPOINT',
  'token service of Google, likewise',
  'https://sts.googleapis.com',
)
const googleProvider = setting('BERTH_GOOGLE_PROVIDER', {
  help: 'workload identity pool and provider that are used in a project',
  default: '`berth/berth`',
  expected: 'the names of a pool and a provider: berth/berth',
  parse: parseGoogleProvider,
  fallback: { googlePool: 'berth', googleProvider: 'berth' },
})
const azureLoginEndpoint = endpoint(
  'BERTH_AZURE_LOGIN_ENDPOINT',
  'token service of Azure, likewise',
  'https://login.microsoftonline.com',
)

export const iamSettings: SettingGroup<IamSettings> = {
  settings: [
    openOrganizations,
    ownersManageCatalog,
    resourceLimits,
    blockedEmailDomains,
    awsStsEndpoint,
    awsRole,
    googleStsEndpoint,
    googleProvider,
    azureLoginEndpoint,
    operatorApi,
  ],
  read: ({ read }) => ({
    openOrganizations: read(openOrganizations),
    ownersManageCatalog: read(ownersManageCatalog),
    resourceLimits: Object.fromEntries(read(resourceLimits)),
    blockedEmailDomains: read(blockedEmailDomains),
    clouds: {
      awsStsEndpoint: read(awsStsEndpoint),
      awsRole: read(awsRole),
      googleStsEndpoint: read(googleStsEndpoint),
      ...read(googleProvider),
      azureLoginEndpoint: read(azureLoginEndpoint),
    },
    operatorApi: read(operatorApi),
  }),
}

/** As IAM names roles: `berth`, or `platform/berth` under a path. */
function parseAwsRole(value: string): string | undefined {
  return /^([\w+=,.@-]{1,64}\/){0,4}[\w+=,.@-]{1,64}$/.test(value) ? value : undefined
}

function parseGoogleProvider(
  value: string,
): Pick<CloudSettings, 'googlePool' | 'googleProvider'> | undefined {
  const [, googlePool, googleProvider] = /^([a-z0-9-]{4,32})\/([a-z0-9-]{4,32})$/.exec(value) ?? []
  return googlePool === undefined || googleProvider === undefined ? undefined : { googlePool, googleProvider }
}
