import { isAbsolute, resolve } from 'node:path'
import { parseDurationSeconds } from '@berth/contract/durations.ts'
import ipaddr from 'ipaddr.js'
import { parseResourceLimit, type ResourceLimits, resourceKinds } from '../api/resource-limits.ts'
import type { CloudSettings } from '../iam/cloud/probes.ts'
import { type LimitTable, limitSyntax, parseLimitTable } from '../pipeline/limits/limit-table.ts'
import type { BlobSettings } from '../registry/blobs/open.ts'
import { type MasterKey, parseMasterKey } from '../runtime/encryption.ts'
import { type ClientSetting, parseClientSetting } from '../signin/oauth/clients.ts'
import { parseDatabaseAddress } from '../storage/engines/postgres/address.ts'
import type { AccessLogSettings } from '../telemetry/access-log.ts'
import { readTracingSettings, type TracingSettings, tracingVariables } from '../telemetry/tracing-settings.ts'
import type { Deprecation } from '../v1/deprecation.ts'
import { limits } from './limits.ts'

/**
 * The environment as a typed configuration. Every variable is described in `variables`, which `berth serve --help` and
 * docs/operating.md show; all mistakes are reported at once.
 */

/** An address to listen on. `port`: 0 takes a free one. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

export interface Config {
  readonly listen: ListenAddress
  /** Milliseconds from SIGTERM until the port stops accepting connections. */
  readonly drainDelayMs: number
  /** Milliseconds that running requests have from then on. */
  readonly stopGraceMs: number
  /** The operator's own listener for metrics and health; undefined: the public port serves aggregate metrics. */
  readonly metricsListen: ListenAddress | undefined
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly dataDir: string
  /** PostgreSQL; undefined: SQLite in the data directory. */
  readonly databaseUrl: string | undefined
  /** Connections to PostgreSQL that requests and background work of a node share; undefined: `limits.databasePoolDefault`. */
  readonly databasePoolMax: number | undefined
  /** `{base_url}`; undefined: the address that is listened on. No slash at the end, like the two below. */
  readonly baseUrl: string | undefined
  /** `{auth_url}`; undefined: the base URL. */
  readonly authUrl: string | undefined
  /** undefined: the base URL's host. */
  readonly registryHost: string | undefined
  /** The bucket for the bytes of images; undefined: files in the data directory. */
  readonly blobs: BlobSettings | undefined
  readonly masterKey: MasterKey | undefined
  readonly errorDomain: string | undefined
  readonly openOrganizations: boolean
  /** How many resources of a kind an organization may hold that has no limit of its own. */
  readonly resourceLimits: ResourceLimits
  /** Domains that say nothing about who somebody works for, besides those of public providers. */
  readonly blockedEmailDomains: readonly string[]
  /** CIDRs whose addresses issuers may have. */
  readonly issuerPrivateNetworks: readonly string[]
  /** Issuers that identities with an issuer pattern may match. */
  readonly patternIssuers: readonly string[]
  /** JSON file with the OpenID providers that everybody may sign in with; undefined: there are none. */
  readonly signInProvidersFile: string | undefined
  readonly corsOrigins: readonly string[]
  /** Calls that an identity, or an address, may make; empty: as many as it likes. */
  readonly rateLimits: Readonly<Record<'identity' | 'address', LimitTable>>
  readonly rateLimitStore: RateLimitStore
  /** CIDRs of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[]
  /** Programs, besides the command line, that may ask people to sign in. */
  readonly oauthClients: readonly ClientSetting[]
  readonly clouds: CloudSettings
  /** How long a key signs tokens before the next one does. */
  readonly signingKeyRotationMs: number
  /** How long audit events are kept; undefined: for ever. */
  readonly auditRetentionMs: number | undefined
  /** Between two collections of what nobody needs in the registry; undefined: there are none. */
  readonly gcIntervalMs: number | undefined
  /** What nobody needs stays for so long. */
  readonly gcGraceMs: number
  /** Bytes of their disk that blobs leave free; undefined: as `diskReserveBytes` says. */
  readonly diskReserveBytes: number | undefined
  /** That version 1 of the API will end; undefined: nobody says so. */
  readonly deprecation: Deprecation | undefined
  readonly logLevel: LogLevel
  /** Undefined: there is none. */
  readonly accessLog: AccessLogSettings | undefined
  /** Undefined: nothing is traced. */
  readonly tracing: TracingSettings | undefined
  /** Origins besides the bucket's that outbound requests send trace headers to. */
  readonly traceOrigins: readonly string[]
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

const rateLimitStores = ['memory', 'database'] as const
export type RateLimitStore = (typeof rateLimitStores)[number]

/** In the directory that the command is started in. */
export const DEFAULT_DATA_DIR = 'data'

const DAY_MS = 24 * 60 * 60 * 1000

/** Every variable of the server, in the order in which help shows them. */
export const variables = {
  BERTH_ENV_FILE:
    'file with these settings, a NAME=VALUE on each line; variables of the environment win (default none)',
  BERTH_LISTEN: 'address and port to serve on (default 127.0.0.1:8080; port 0 takes a free one)',
  BERTH_METRICS_LISTEN:
    'address and port for /metrics, /healthz and /readyz alone, such as 127.0.0.1:9090 (default: the public port serves /metrics without names of tenants)',
  BERTH_DRAIN_DELAY:
    'after SIGTERM: how long to serve while /readyz fails, such as 10s (default 5s; 0s: not at all)',
  BERTH_STOP_GRACE: 'how long running requests may then take to finish, such as 30s (default 10s)',
  BERTH_BASE_URL: 'address of the API as clients see it (default http:// or https:// and the listen address)',
  BERTH_AUTH_URL: 'address of the token service (default: the base URL)',
  BERTH_REGISTRY_HOST: "host name of the registry (default: the base URL's host)",
  BERTH_DATA_DIR: 'directory of the SQLite database, the master key, images and downloads (default ./data)',
  BERTH_DATABASE_URL:
    'postgres://user:password@host/database, or several servers as host1:5432,host2:5432 (default: SQLite in the data directory)',
  BERTH_DATABASE_POOL_MAX: `connections to PostgreSQL that a node opens for requests and background work (default ${limits.databasePoolDefault})`,
  BERTH_BLOBS_S3_BUCKET: 'bucket for the bytes of images (default: files in the data directory)',
  BERTH_BLOBS_S3_ENDPOINT: "address of its S3 server (default: Amazon's)",
  BERTH_BLOBS_S3_REGION: 'region of the bucket (default: AWS_REGION)',
  BERTH_BLOBS_S3_PREFIX: 'what all keys in the bucket begin with (default nothing)',
  BERTH_BLOBS_S3_PATH_STYLE:
    'true: the bucket is in the path of a URL, false: in its host (default: true with an endpoint)',
  BERTH_BLOBS_REDIRECT:
    'true: clients fetch blobs from the bucket; or its address for clients, where that is another one (default false)',
  BERTH_MASTER_KEY:
    '32 bytes in base64 that encrypt secrets (default: the file master.key in the data directory)',
  BERTH_TLS_CERT_FILE: 'PEM file with the certificate chain; with it the port speaks TLS',
  BERTH_TLS_KEY_FILE: 'PEM file with its private key',
  BERTH_ERROR_DOMAIN: 'domain in the ErrorInfo of errors (default: host name of the base URL)',
  BERTH_OPEN_ORGANIZATIONS: 'true: every signed-in identity may create organizations (default false)',
  BERTH_RESOURCE_LIMITS:
    'how many resources an organization may hold, e.g. groups=100,identities=500 (default: no limits)',
  BERTH_BLOCKED_EMAIL_DOMAINS:
    'e-mail domains, separated by commas, by which nobody finds an organization, besides public providers (default none)',
  BERTH_ISSUER_PRIVATE_NETWORKS:
    'CIDRs, separated by commas, in which token issuers and feeds may lie, over http too (default none)',
  BERTH_PATTERN_ISSUERS:
    'token issuers, separated by commas, that identities with an issuer pattern may match (default none)',
  BERTH_SIGN_IN_PROVIDERS_FILE:
    'JSON file with the OpenID providers that everybody may sign in with (default none)',
  BERTH_CORS_ORIGINS: 'origins, separated by commas, whose pages may call the API (default none)',
  BERTH_RATE_LIMITS: 'calls that one identity may make, such as read=100/1s,write=20/1s (default no limit)',
  BERTH_RATE_LIMITS_ADDRESS: 'calls that one IP address may make, in the same form (default no limit)',
  BERTH_RATE_LIMIT_STORE: 'memory: each node counts by itself (default); database: all nodes count together',
  BERTH_TRUSTED_PROXIES:
    'CIDRs, separated by commas, of proxies whose X-Forwarded-For is believed (default none)',
  BERTH_OAUTH_CLIENTS:
    'programs, separated by commas, that may ask people to sign in, such as portal=https://portal.example.com/done (default none)',
  BERTH_AWS_STS_ENDPOINT: 'address of the token service of Amazon (default https://sts.amazonaws.com)',
  BERTH_AWS_ROLE: 'name of the role that checks of Amazon accounts assume (default berth)',
  BERTH_GOOGLE_STS_ENDPOINT: 'address of the token service of Google (default https://sts.googleapis.com)',
  BERTH_GOOGLE_PROVIDER:
    'workload identity pool and provider that checks of Google projects use (default berth/berth)',
  BERTH_AZURE_LOGIN_ENDPOINT:
    'address of the token service of Azure (default https://login.microsoftonline.com)',
  BERTH_SIGNING_KEY_ROTATION:
    'how many days a key signs tokens before the next one does, such as 7d (default 30d)',
  BERTH_AUDIT_RETENTION: 'how many days audit events are kept, such as 90d, or forever (default 400d)',
  BERTH_COLLECTION_INTERVAL:
    'how often the registry is rid of blobs that nobody needs, such as 12h, or off (default 1d)',
  BERTH_COLLECTION_GRACE: 'how long a blob stays that nobody needs, such as 48h (default 24h, at least 1h)',
  BERTH_DISK_RESERVE:
    'free space that pushes leave on the disk of the images, such as 512MiB or 2GiB; 0 for none (default 256MiB, or 5 % of a smaller disk)',
  BERTH_V1_DEPRECATED_AT:
    'since when version 1 of the API is deprecated, such as 2027-01-31: its answers say so (default: never)',
  BERTH_V1_SUNSET_AT: 'from when it may no longer answer, which its answers say too (default: they do not)',
  BERTH_V1_MIGRATION_URL: 'page that tells its callers how to move (default none)',
  BERTH_LOG_LEVEL: `one of ${logLevels.join(', ')} (default info)`,
  BERTH_ACCESS_LOG:
    'off, stdout, stderr, or the absolute path of a file: one JSON line per request (default off)',
  BERTH_ACCESS_LOG_PROBES: 'true: requests for health and metrics are in the access log, too (default false)',
  BERTH_TRACE_ORIGINS:
    'origins, separated by commas, that outbound requests send trace headers to, besides BERTH_BLOBS_S3_ENDPOINT (default none)',
  ...tracingVariables,
} as const

/** Names that the command line and the tests read; the server lets them pass. */
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

/** The configuration, or everything that is wrong with the environment, a sentence each. */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
): { readonly config: Config } | { readonly problems: readonly string[] } {
  const problems: string[] = []
  const text = (name: keyof typeof variables) => (env[name] === '' ? undefined : env[name])
  const read = <T>(
    name: keyof typeof variables,
    parse: (value: string) => T | undefined,
    expected: string,
  ) => {
    const value = text(name)
    if (value === undefined) return undefined
    const parsed = parse(value)
    if (parsed === undefined) problems.push(`${name} must be ${expected}`)
    return parsed
  }
  const list = (name: keyof typeof variables, valid: (item: string) => boolean, expected: string) => {
    const items = (text(name) ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
    for (const item of items)
      if (!valid(item)) problems.push(`${name}: ${JSON.stringify(item)} must be ${expected}`)
    return items
  }

  for (const name of Object.keys(env)) {
    const known =
      Object.hasOwn(variables, name) || cliAndTestVariables.has(name) || name.startsWith('BERTH_TEST_')
    if (name.startsWith('BERTH_') && !known)
      problems.push(`${name} is not a setting of berth${suggestion(name)}`)
  }
  const certFile = text('BERTH_TLS_CERT_FILE')
  const keyFile = text('BERTH_TLS_KEY_FILE')
  if ((certFile === undefined) !== (keyFile === undefined)) {
    problems.push('BERTH_TLS_CERT_FILE and BERTH_TLS_KEY_FILE must be set together')
  }
  const deprecatedAtMs = read('BERTH_V1_DEPRECATED_AT', parseInstant, instantExpected)
  const sunsetMs = read('BERTH_V1_SUNSET_AT', parseInstant, instantExpected)
  const migrationUrl = read('BERTH_V1_MIGRATION_URL', parseHttpUrl, 'an absolute http or https URL')
  if (text('BERTH_V1_DEPRECATED_AT') === undefined) {
    for (const name of ['BERTH_V1_SUNSET_AT', 'BERTH_V1_MIGRATION_URL'] as const)
      if (text(name) !== undefined) problems.push(`${name} needs BERTH_V1_DEPRECATED_AT`)
  } else if (deprecatedAtMs !== undefined && sunsetMs !== undefined && sunsetMs < deprecatedAtMs) {
    problems.push('BERTH_V1_SUNSET_AT must not be before BERTH_V1_DEPRECATED_AT')
  }
  const bucket = read('BERTH_BLOBS_S3_BUCKET', parseBucket, 'the name of a bucket')
  if (text('BERTH_BLOBS_S3_BUCKET') === undefined) {
    for (const name of bucketSettings)
      if (text(name) !== undefined) problems.push(`${name} needs BERTH_BLOBS_S3_BUCKET`)
  }
  const endpoint = read('BERTH_BLOBS_S3_ENDPOINT', parseOrigin, originExpected)
  const region = read('BERTH_BLOBS_S3_REGION', parseRegion, 'the name of a region, such as eu-central-1')
  const blobs: Omit<BlobSettings, 'bucket'> = {
    endpoint,
    region,
    prefix:
      read('BERTH_BLOBS_S3_PREFIX', parseKeyPrefix, 'names with slashes between, such as berth/blobs') ?? '',
    pathStyle: read('BERTH_BLOBS_S3_PATH_STYLE', parseBoolean, 'true or false') ?? endpoint !== undefined,
    redirect: read('BERTH_BLOBS_REDIRECT', parseRedirect, `true, false, or ${originExpected}`) ?? false,
  }
  const databaseUrl = () => {
    const value = text('BERTH_DATABASE_URL')
    const read = value === undefined ? undefined : parseDatabaseAddress(value)
    if (read !== undefined && 'problem' in read) problems.push(`BERTH_DATABASE_URL ${read.problem}`)
    return value
  }
  const accessTarget = read(
    'BERTH_ACCESS_LOG',
    parseAccessLog,
    'off, stdout, stderr, or the absolute path of a file',
  )
  const config: Config = {
    listen: read('BERTH_LISTEN', parseListen, listenExpected) ?? { host: '127.0.0.1', port: 8080 },
    drainDelayMs: read('BERTH_DRAIN_DELAY', parseStopDuration, stopDurationExpected) ?? limits.drainDelayMs,
    stopGraceMs: read('BERTH_STOP_GRACE', parseStopDuration, stopDurationExpected) ?? limits.stopGraceMs,
    metricsListen: read('BERTH_METRICS_LISTEN', parseListen, listenExpected),
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    dataDir: resolve(text('BERTH_DATA_DIR') ?? DEFAULT_DATA_DIR),
    databaseUrl: databaseUrl(),
    databasePoolMax: read(
      'BERTH_DATABASE_POOL_MAX',
      parsePoolMax,
      `a number from ${limits.databasePoolMin} to ${limits.databasePoolMax}`,
    ),
    baseUrl: read('BERTH_BASE_URL', parseOrigin, originExpected),
    authUrl: read('BERTH_AUTH_URL', parseOrigin, originExpected),
    registryHost: read('BERTH_REGISTRY_HOST', parseHost, 'a host name, with a port if need be'),
    blobs: bucket === undefined ? undefined : { bucket, ...blobs },
    masterKey: read(
      'BERTH_MASTER_KEY',
      parseMasterKey,
      '32 bytes in base64, such as `openssl rand -base64 32` prints',
    ),
    errorDomain: read('BERTH_ERROR_DOMAIN', parseHost, 'a domain name'),
    openOrganizations: read('BERTH_OPEN_ORGANIZATIONS', parseBoolean, 'true or false') ?? false,
    resourceLimits: Object.fromEntries(
      list(
        'BERTH_RESOURCE_LIMITS',
        (item) => parseResourceLimit(item)?.n !== undefined,
        `KIND=NUMBER, where KIND is one of ${resourceKinds.join(', ')}`,
      ).flatMap((item) => {
        const limit = parseResourceLimit(item)
        return limit === undefined ? [] : [[limit.kind, limit.n]]
      }),
    ),
    blockedEmailDomains: list('BERTH_BLOCKED_EMAIL_DOMAINS', isDomain, 'a domain such as example.com').map(
      (domain) => domain.toLowerCase(),
    ),
    issuerPrivateNetworks: list(
      'BERTH_ISSUER_PRIVATE_NETWORKS',
      ipaddr.isValidCIDR,
      'a CIDR such as 10.0.0.0/8',
    ),
    patternIssuers: list(
      'BERTH_PATTERN_ISSUERS',
      (item) => URL.canParse(item),
      'the address of a token issuer',
    ),
    signInProvidersFile: text('BERTH_SIGN_IN_PROVIDERS_FILE'),
    corsOrigins: list(
      'BERTH_CORS_ORIGINS',
      (item) => parseOrigin(item) === item,
      'an origin such as https://console.example.com',
    ),
    rateLimits: {
      identity: read('BERTH_RATE_LIMITS', parseLimitTable, limitSyntax) ?? {},
      address: read('BERTH_RATE_LIMITS_ADDRESS', parseLimitTable, limitSyntax) ?? {},
    },
    rateLimitStore:
      read('BERTH_RATE_LIMIT_STORE', parseRateLimitStore, `one of ${rateLimitStores.join(', ')}`) ?? 'memory',
    trustedProxies: list('BERTH_TRUSTED_PROXIES', ipaddr.isValidCIDR, 'a CIDR such as 10.0.0.0/8'),
    oauthClients: list(
      'BERTH_OAUTH_CLIENTS',
      (item) => parseClientSetting(item) !== undefined,
      'ID=REDIRECT, where the redirect is an https address, or an http address of this machine, as browsers write it',
    ).flatMap((item) => parseClientSetting(item) ?? []),
    clouds: {
      awsStsEndpoint:
        read('BERTH_AWS_STS_ENDPOINT', parseOrigin, originExpected) ?? 'https://sts.amazonaws.com',
      awsRole:
        read('BERTH_AWS_ROLE', parseAwsRole, 'the name of a role, with its path if it has one') ?? 'berth',
      googleStsEndpoint:
        read('BERTH_GOOGLE_STS_ENDPOINT', parseOrigin, originExpected) ?? 'https://sts.googleapis.com',
      ...(read(
        'BERTH_GOOGLE_PROVIDER',
        parseGoogleProvider,
        'the names of a pool and a provider: berth/berth',
      ) ?? {
        googlePool: 'berth',
        googleProvider: 'berth',
      }),
      azureLoginEndpoint:
        read('BERTH_AZURE_LOGIN_ENDPOINT', parseOrigin, originExpected) ??
        'https://login.microsoftonline.com',
    },
    signingKeyRotationMs:
      read('BERTH_SIGNING_KEY_ROTATION', parseDays, 'a number of days such as 30d') ?? 30 * DAY_MS,
    auditRetentionMs: (
      read('BERTH_AUDIT_RETENTION', parseRetention, 'a number of days such as 90d, or forever') ?? {
        ms: 400 * DAY_MS,
      }
    ).ms,
    gcIntervalMs: (
      read('BERTH_COLLECTION_INTERVAL', parseInterval, 'a duration such as 12h or 7d, or off') ?? {
        ms: DAY_MS,
      }
    ).ms,
    gcGraceMs:
      read('BERTH_COLLECTION_GRACE', parseGrace, 'a duration such as 24h, of at least 1h') ??
      limits.gcGraceMsDefault,
    diskReserveBytes: read('BERTH_DISK_RESERVE', parseBytes, 'a number of bytes such as 512MiB or 2GiB'),
    deprecation: deprecatedAtMs === undefined ? undefined : { atMs: deprecatedAtMs, sunsetMs, migrationUrl },
    logLevel: read('BERTH_LOG_LEVEL', parseLogLevel, `one of ${logLevels.join(', ')}`) ?? 'info',
    accessLog: accessTarget
      ? {
          target: accessTarget,
          probes: read('BERTH_ACCESS_LOG_PROBES', parseBoolean, 'true or false') ?? false,
        }
      : undefined,
    tracing: readTracingSettings(env, (sentence) => problems.push(sentence)),
    traceOrigins: list(
      'BERTH_TRACE_ORIGINS',
      (item) => parseOrigin(item) === item,
      'an origin such as https://login.example.com',
    ),
  }
  return problems.length > 0 ? { problems } : { config }
}

const listenExpected = 'an address and a port, such as 127.0.0.1:8080 or [::1]:8080'

function parseListen(value: string): ListenAddress | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):([0-9]{1,5})$/.exec(value)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  return host === undefined || port > 65535 ? undefined : { host, port }
}

export function parseOrigin(value: string): string | undefined {
  if (!URL.canParse(value)) return undefined
  const url = new URL(value)
  const bare =
    url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  return bare && (url.protocol === 'http:' || url.protocol === 'https:') ? url.origin : undefined
}

const bucketSettings = [
  'BERTH_BLOBS_S3_ENDPOINT',
  'BERTH_BLOBS_S3_REGION',
  'BERTH_BLOBS_S3_PREFIX',
  'BERTH_BLOBS_S3_PATH_STYLE',
  'BERTH_BLOBS_REDIRECT',
] as const

function parseBucket(value: string): string | undefined {
  return /^[A-Za-z0-9][\w.-]{1,253}[A-Za-z0-9]$/.test(value) ? value : undefined
}

function parseRegion(value: string): string | undefined {
  return /^[a-z0-9-]{1,64}$/i.test(value) ? value : undefined
}

/** With a slash at its end. */
function parseKeyPrefix(value: string): string | undefined {
  const [, names] = /^\/?([\w-][\w.-]*(?:\/[\w-][\w.-]*)*)\/?$/.exec(value) ?? []
  return names === undefined || names.length > 200 ? undefined : `${names}/`
}

/** A bucket and a prefix as `s3://bucket/prefix`. */
export function parseBucketUrl(value: string): Pick<BlobSettings, 'bucket' | 'prefix'> | undefined {
  const [, name = '', path = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(value) ?? []
  const bucket = parseBucket(name)
  const prefix = path === '' ? '' : parseKeyPrefix(path)
  return bucket === undefined || prefix === undefined ? undefined : { bucket, prefix }
}

function parseRedirect(value: string): BlobSettings['redirect'] | undefined {
  const wanted = parseBoolean(value)
  if (wanted !== undefined) return wanted && { endpoint: undefined }
  const endpoint = parseOrigin(value)
  return endpoint === undefined ? undefined : { endpoint }
}

const originExpected = 'an http or https address without path'

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

const instantExpected = 'a day such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z'

function parseInstant(value: string): number | undefined {
  const whole = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d))?$/.test(value)
  const ms = whole ? Date.parse(value) : Number.NaN
  // A day that a month does not have becomes one of the next month.
  const date = value.slice(0, 10)
  const dayMs = Date.parse(`${date}T00:00:00Z`)
  return Number.isNaN(ms) || Number.isNaN(dayMs) || !new Date(dayMs).toISOString().startsWith(date)
    ? undefined
    : ms
}

/** In the form that a header can have. */
function parseHttpUrl(value: string): string | undefined {
  const url = URL.parse(value)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
    ? url.href
    : undefined
}

function parseRetention(value: string): { readonly ms: number | undefined } | undefined {
  if (value === 'forever') return { ms: undefined }
  const ms = parseDays(value)
  return ms === undefined ? undefined : { ms }
}

function parseInterval(value: string): { readonly ms: number | undefined } | undefined {
  if (value === 'off') return { ms: undefined }
  const ms = (parseDurationSeconds(value) ?? 0) * 1000
  return ms > 0 ? { ms } : undefined
}

const stopDurationExpected = 'a duration such as 10s, of at most 1h'

function parseStopDuration(value: string): number | undefined {
  const seconds = parseDurationSeconds(value)
  return seconds === undefined || seconds > 3600 ? undefined : seconds * 1000
}

function parseGrace(value: string): number | undefined {
  const ms = (parseDurationSeconds(value) ?? 0) * 1000
  return ms >= limits.gcGraceMsMin ? ms : undefined
}

const byteUnits = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 } as const

function parseBytes(value: string): number | undefined {
  const [, number, unit = ''] = /^([0-9]{1,12})(KiB|MiB|GiB|TiB)?$/.exec(value) ?? []
  return number === undefined ? undefined : Number(number) * byteUnits[unit as keyof typeof byteUnits]
}

function parseDays(value: string): number | undefined {
  const [, days] = /^([1-9][0-9]{0,4})d$/.exec(value) ?? []
  return days === undefined ? undefined : Number(days) * DAY_MS
}

function parsePoolMax(value: string): number | undefined {
  const max = /^\d{1,4}$/.test(value) ? Number(value) : 0
  return max >= limits.databasePoolMin && max <= limits.databasePoolMax ? max : undefined
}

function parseHost(value: string): string | undefined {
  return /^[a-z0-9.-]+(:[0-9]+)?$|^\[[0-9a-f:]+\](:[0-9]+)?$/i.test(value) ? value.toLowerCase() : undefined
}

function isDomain(value: string): boolean {
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(value)
}

function parseBoolean(value: string): boolean | undefined {
  if (value === 'true' || value === '1') return true
  return value === 'false' || value === '0' ? false : undefined
}

function parseRateLimitStore(value: string): RateLimitStore | undefined {
  return rateLimitStores.find((store) => store === value)
}

function parseAccessLog(value: string): AccessLogSettings['target'] | 0 | undefined {
  const known = { off: 0, stdout: 1, stderr: 2 } as const
  if (Object.hasOwn(known, value)) return known[value as keyof typeof known]
  return isAbsolute(value) ? value : undefined
}

function parseLogLevel(value: string): LogLevel | undefined {
  return logLevels.find((level) => level === value)
}

/** The setting that was probably meant: one that differs in few letters. */
function suggestion(name: string): string {
  const letters = (text: string) => [...text].sort().join('')
  const near = Object.keys(variables).find(
    (known) =>
      letters(known) === letters(name) ||
      known.startsWith(name) ||
      name.startsWith(known) ||
      known.replaceAll('_', '') === name.replaceAll('_', ''),
  )
  return near === undefined ? '; see berth serve --help' : `; did you mean ${near}?`
}

/** The addresses under which an installation is known. */
export interface Addresses {
  readonly baseUrl: string
  readonly authUrl: string
  readonly registryHost: string
  readonly errorDomain: string
}

/** `listening`: where the port was bound, which the external addresses default to. */
export function addressesOf(config: Config, boundUrl: string): Addresses {
  const baseUrl = config.baseUrl ?? boundUrl
  const { host, hostname } = new URL(baseUrl)
  return {
    baseUrl,
    authUrl: config.authUrl ?? baseUrl,
    registryHost: config.registryHost ?? host,
    errorDomain: config.errorDomain ?? hostname,
  }
}
