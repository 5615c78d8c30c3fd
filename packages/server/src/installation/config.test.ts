import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { addressesOf } from '../config/addresses.ts'
import { limits } from '../config/limits.ts'
import { readConfig, settings } from './config.ts'

function read(env: Record<string, string>) {
  const result = readConfig(env)
  if ('problems' in result) assert.fail(result.problems.join('\n'))
  return result.config
}

function problems(env: Record<string, string>): readonly string[] {
  const result = readConfig(env)
  return 'problems' in result ? result.problems : []
}

test('without settings the server listens on this machine only, with its data in the working directory', () => {
  const config = read({})
  assert.deepEqual(config.listen, { host: '127.0.0.1', port: 8080 })
  assert.equal(config.dataDir, resolve('data'))
  assert.deepEqual(
    [config.tls, config.databaseUrl, config.masterKey, config.openOrganizations, config.logLevel],
    [undefined, undefined, undefined, false, 'info'],
  )
  assert.deepEqual(config.clouds, {
    awsStsEndpoint: 'https://sts.amazonaws.com',
    awsRole: 'berth',
    googleStsEndpoint: 'https://sts.googleapis.com',
    googlePool: 'berth',
    googleProvider: 'berth',
    azureLoginEndpoint: 'https://login.microsoftonline.com',
  })
  assert.deepEqual([config.issuerPrivateNetworks, config.patternIssuers, config.corsOrigins], [[], [], []])
})

test('an empty variable counts as unset', () => {
  assert.deepEqual(read(Object.fromEntries(settings.map(({ name }) => [name, '']))), read({}))
})

const key = randomBytes(32).toString('base64')
const good: readonly [name: string, value: string, member: keyof ReturnType<typeof read>, wanted: unknown][] =
  [
    ['BERTH_LISTEN', '0.0.0.0:0', 'listen', { host: '0.0.0.0', port: 0 }],
    ['BERTH_LISTEN', '[::1]:65535', 'listen', { host: '::1', port: 65535 }],
    ['BERTH_LISTEN', 'berth.local:80', 'listen', { host: 'berth.local', port: 80 }],
    ['BERTH_METRICS_LISTEN', '127.0.0.1:9090', 'metricsListen', { host: '127.0.0.1', port: 9090 }],
    ['BERTH_METRICS_LISTEN', '[::1]:0', 'metricsListen', { host: '::1', port: 0 }],
    ['BERTH_BASE_URL', 'https://api.example.com', 'baseUrl', 'https://api.example.com'],
    ['BERTH_BASE_URL', 'http://api.example.com:8080/', 'baseUrl', 'http://api.example.com:8080'],
    ['BERTH_AUTH_URL', 'https://auth.example.com', 'authUrl', 'https://auth.example.com'],
    ['BERTH_REGISTRY_HOST', 'CR.example.com:443', 'registryHost', 'cr.example.com:443'],
    ['BERTH_DATABASE_URL', 'postgres://u:p@h:5432/d', 'databaseUrl', 'postgres://u:p@h:5432/d'],
    ['BERTH_DATABASE_URL', 'postgresql://h/d', 'databaseUrl', 'postgresql://h/d'],
    [
      'BERTH_DATABASE_URL',
      'postgres://u@a:1,b:2/d?target_session_attrs=primary',
      'databaseUrl',
      'postgres://u@a:1,b:2/d?target_session_attrs=primary',
    ],
    ['BERTH_DATABASE_POOL_MAX', '40', 'databasePoolMax', 40],
    ['BERTH_WORKERS', '', 'workers', 1],
    ['BERTH_WORKERS', '3', 'workers', 3],
    ['BERTH_WORKERS', 'auto', 'workers', Math.min(availableParallelism(), limits.workersMax)],
    ['BERTH_OPEN_ORGANIZATIONS', 'true', 'openOrganizations', true],
    ['BERTH_OPEN_ORGANIZATIONS', '0', 'openOrganizations', false],
    ['BERTH_OWNERS_MANAGE_CATALOG', 'true', 'ownersManageCatalog', true],
    ['BERTH_DRAIN_DELAY', '30s', 'drainDelayMs', 30_000],
    ['BERTH_DRAIN_DELAY', '0s', 'drainDelayMs', 0],
    ['BERTH_DRAIN_DELAY', '', 'drainDelayMs', limits.drainDelayMs],
    ['BERTH_STOP_GRACE', '2m', 'stopGraceMs', 120_000],
    ['BERTH_STOP_GRACE', '', 'stopGraceMs', limits.stopGraceMs],
    ['BERTH_SIGNING_KEY_ROTATION', '7d', 'signingKeyRotationMs', 7 * 24 * 3_600_000],
    ['BERTH_SIGNING_KEY_ROTATION', '', 'signingKeyRotationMs', 30 * 24 * 3_600_000],
    ['BERTH_AUDIT_RETENTION', '90d', 'auditRetentionMs', 90 * 24 * 3_600_000],
    ['BERTH_AUDIT_RETENTION', '', 'auditRetentionMs', 400 * 24 * 3_600_000],
    ['BERTH_AUDIT_RETENTION', 'forever', 'auditRetentionMs', undefined],
    ['BERTH_RESOURCE_LIMITS', 'groups=100, idps=0', 'resourceLimits', { groups: 100, idps: 0 }],
    [
      'BERTH_BLOCKED_EMAIL_DOMAINS',
      'Example.com,b.example',
      'blockedEmailDomains',
      ['example.com', 'b.example'],
    ],
    [
      'BERTH_ISSUER_PRIVATE_NETWORKS',
      '10.0.0.0/8, fd00::/8,',
      'issuerPrivateNetworks',
      ['10.0.0.0/8', 'fd00::/8'],
    ],
    [
      'BERTH_PATTERN_ISSUERS',
      'https://a.example,https://b.example',
      'patternIssuers',
      ['https://a.example', 'https://b.example'],
    ],
    ['BERTH_CORS_ORIGINS', 'https://console.example', 'corsOrigins', ['https://console.example']],
    [
      'BERTH_RATE_LIMITS',
      'read=100/1s, exchange=5/2m',
      'rateLimits',
      { identity: { read: { points: 100, seconds: 1 }, exchange: { points: 5, seconds: 120 } }, address: {} },
    ],
    [
      'BERTH_RATE_LIMITS_ADDRESS',
      'write=1/24h',
      'rateLimits',
      { identity: {}, address: { write: { points: 1, seconds: limits.rateLimitWindowMsMax / 1000 } } },
    ],
    ['BERTH_RATE_LIMIT_STORE', 'database', 'rateLimitStore', 'database'],
    ['BERTH_TRUSTED_PROXIES', '10.0.0.0/8,fd00::/8', 'trustedProxies', ['10.0.0.0/8', 'fd00::/8']],
    [
      'BERTH_OAUTH_CLIENTS',
      'portal=https://portal.example.com/done, tool=http://127.0.0.1/cb',
      'oauthClients',
      [
        { id: 'portal', redirect: 'https://portal.example.com/done' },
        { id: 'tool', redirect: 'http://127.0.0.1/cb' },
      ],
    ],
    ['BERTH_AWS_STS_ENDPOINT', 'https://sts.example/', 'clouds', { awsStsEndpoint: 'https://sts.example' }],
    ['BERTH_AWS_ROLE', 'platform/berth+1', 'clouds', { awsRole: 'platform/berth+1' }],
    [
      'BERTH_GOOGLE_STS_ENDPOINT',
      'http://127.0.0.1:81',
      'clouds',
      { googleStsEndpoint: 'http://127.0.0.1:81' },
    ],
    ['BERTH_GOOGLE_PROVIDER', 'pool/name', 'clouds', { googlePool: 'pool', googleProvider: 'name' }],
    [
      'BERTH_AZURE_LOGIN_ENDPOINT',
      'https://login.example',
      'clouds',
      { azureLoginEndpoint: 'https://login.example' },
    ],
    ['BERTH_LOG_LEVEL', 'debug', 'logLevel', 'debug'],
    [
      'BERTH_V1_DEPRECATED_AT',
      '2027-01-31',
      'deprecation',
      { atMs: Date.UTC(2027, 0, 31), sunsetMs: undefined, migrationUrl: undefined },
    ],
    [
      'BERTH_V1_DEPRECATED_AT',
      '2027-01-31T12:00:00+01:00',
      'deprecation',
      { atMs: Date.UTC(2027, 0, 31, 11), sunsetMs: undefined, migrationUrl: undefined },
    ],
    ['BERTH_ERROR_DOMAIN', 'iam.example.com', 'errorDomain', 'iam.example.com'],
  ]
for (const [name, value, member, wanted] of good) {
  test(`${name}=${value} is read`, () => {
    const unset = read({})[member]
    const expected = member === 'clouds' ? { ...(unset as object), ...(wanted as object) } : wanted
    assert.deepEqual(read({ [name]: value })[member], expected)
  })
}

const bad: readonly [name: string, value: string][] = [
  ['BERTH_LISTEN', '8080'],
  ['BERTH_LISTEN', '127.0.0.1:65536'],
  ['BERTH_LISTEN', '::1:80'],
  ['BERTH_BASE_URL', 'api.example.com'],
  ['BERTH_BASE_URL', 'https://api.example.com/path'],
  ['BERTH_BASE_URL', 'https://user@api.example.com'],
  ['BERTH_AUTH_URL', 'ftp://auth.example.com'],
  ['BERTH_REGISTRY_HOST', 'https://cr.example.com'],
  ['BERTH_DATABASE_URL', 'mysql://h/d'],
  ['BERTH_DATABASE_URL', 'postgres://a,b/d?target_session_attrs=standby'],
  ['BERTH_DATABASE_READ_URL', 'mysql://h/d'],
  ['BERTH_DATABASE_READ_URL', 'postgres://h/d'],
  ['BERTH_DATABASE_POOL_MAX', '1'],
  ['BERTH_DATABASE_POOL_MAX', '1001'],
  ['BERTH_DATABASE_POOL_MAX', 'many'],
  ['BERTH_MASTER_KEY', 'short'],
  ['BERTH_BLOBS_S3_BUCKET', 's3://images'],
  ['BERTH_BLOBS_REDIRECT', 'true'],
  ['BERTH_SIGNING_KEY_ROTATION', 'never'],
  ['BERTH_SIGNING_KEY_ROTATION', '0d'],
  ['BERTH_AUDIT_RETENTION', '0d'],
  ['BERTH_AUDIT_RETENTION', '90'],
  ['BERTH_OPEN_ORGANIZATIONS', 'yes'],
  ['BERTH_ISSUER_PRIVATE_NETWORKS', '10.0.0.0'],
  ['BERTH_PATTERN_ISSUERS', 'a.example'],
  ['BERTH_CORS_ORIGINS', 'https://console.example/'],
  ['BERTH_RATE_LIMITS', '100/1s'],
  ['BERTH_RATE_LIMITS', 'reads=100/1s'],
  ['BERTH_RATE_LIMITS', 'read=0/1s'],
  ['BERTH_RATE_LIMITS', 'read=1/0s'],
  ['BERTH_RATE_LIMITS', 'read=1/25h'],
  ['BERTH_RATE_LIMITS', 'read=1/100ms'],
  ['BERTH_RATE_LIMITS', 'read=1/1s,read=2/1s'],
  ['BERTH_RATE_LIMITS', 'read=1/1s,'],
  ['BERTH_RATE_LIMITS_ADDRESS', 'write=1'],
  ['BERTH_RATE_LIMIT_STORE', 'redis'],
  ['BERTH_TRUSTED_PROXIES', '10.0.0.1'],
  ['BERTH_OAUTH_CLIENTS', 'portal=http://portal.example.com/done'],
  ['BERTH_AWS_STS_ENDPOINT', 'https://sts.example/path'],
  ['BERTH_AWS_ROLE', 'arn:aws:iam::123456789012:role/berth'],
  ['BERTH_AWS_ROLE', '../berth/'],
  ['BERTH_GOOGLE_STS_ENDPOINT', 'sts.example'],
  ['BERTH_GOOGLE_PROVIDER', 'berth'],
  ['BERTH_GOOGLE_PROVIDER', 'berth/../berth'],
  ['BERTH_AZURE_LOGIN_ENDPOINT', 'ftp://login.example'],
  ['BERTH_V1_DEPRECATED_AT', '2027-02-30'],
  ['BERTH_V1_DEPRECATED_AT', '31.1.2027'],
  ['BERTH_V1_DEPRECATED_AT', '2027-01-31 12:00:00'],
  ['BERTH_V1_SUNSET_AT', '2027-01-31'],
  ['BERTH_V1_MIGRATION_URL', 'https://docs.example'],
  ['BERTH_LOG_LEVEL', 'loud'],
]
for (const [name, value] of bad) {
  test(`${name}=${value} is rejected by name`, () => {
    const [problem = '', ...more] = problems({ [name]: value })
    assert.ok(problem.startsWith(name), problem)
    assert.deepEqual(more, [])
  })
}

test('a master key never shows in a problem', () => {
  assert.doesNotMatch(problems({ BERTH_MASTER_KEY: `${key}x` }).join(), new RegExp(key.slice(0, 8)))
  assert.equal(read({ BERTH_MASTER_KEY: key }).masterKey?.length, 32)
})

test('all mistakes are reported together', () => {
  assert.equal(problems({ BERTH_LISTEN: 'x', BERTH_LOG_LEVEL: 'x', BERTH_TLS_CERT_FILE: 'c' }).length, 3)
})

test('version 1 ends after its deprecation, and links to documentation', () => {
  const BERTH_V1_DEPRECATED_AT = '2027-01-31'
  const configured = {
    BERTH_V1_DEPRECATED_AT,
    BERTH_V1_SUNSET_AT: '2027-01-31',
    BERTH_V1_MIGRATION_URL: 'https://a.example/<b>',
  }
  assert.deepEqual(read(configured).deprecation, {
    atMs: Date.UTC(2027, 0, 31),
    sunsetMs: Date.UTC(2027, 0, 31),
    migrationUrl: 'https://a.example/%3Cb%3E',
  })
  assert.equal(read({}).deprecation, undefined)
  for (const wrong of [
    { BERTH_V1_SUNSET_AT: '2027-01-30' },
    { BERTH_V1_SUNSET_AT: 'soon' },
    { BERTH_V1_MIGRATION_URL: '/docs' },
    { BERTH_V1_MIGRATION_URL: 'https://me:secret@docs.example' },
  ])
    assert.equal(problems({ BERTH_V1_DEPRECATED_AT, ...wrong }).length, 1, JSON.stringify(wrong))
})

test('a bucket has settings for its location and its use', () => {
  const BERTH_BLOBS_S3_BUCKET = 'images.example'
  assert.equal(read({}).blobs, undefined)
  assert.deepEqual(read({ BERTH_BLOBS_S3_BUCKET }).blobs, {
    bucket: BERTH_BLOBS_S3_BUCKET,
    endpoint: undefined,
    region: undefined,
    prefix: '',
    pathStyle: false,
    redirect: false,
  })
  const configured = {
    BERTH_BLOBS_S3_BUCKET,
    BERTH_BLOBS_S3_ENDPOINT: 'http://127.0.0.1:9000/',
    BERTH_BLOBS_S3_REGION: 'eu-central-1',
    BERTH_BLOBS_S3_PREFIX: '/berth/images/',
    BERTH_BLOBS_REDIRECT: 'https://images.example',
  }
  assert.deepEqual(read(configured).blobs, {
    bucket: BERTH_BLOBS_S3_BUCKET,
    endpoint: 'http://127.0.0.1:9000',
    region: 'eu-central-1',
    prefix: 'berth/images/',
    pathStyle: true,
    redirect: { endpoint: 'https://images.example' },
  })
  const others = read({
    ...configured,
    BERTH_BLOBS_S3_PATH_STYLE: 'false',
    BERTH_BLOBS_REDIRECT: 'true',
  }).blobs
  assert.deepEqual([others?.pathStyle, others?.redirect], [false, { endpoint: undefined }])
  assert.equal(read({ ...configured, BERTH_BLOBS_REDIRECT: 'false' }).blobs?.redirect, false)
  for (const wrong of [
    { BERTH_BLOBS_S3_ENDPOINT: 'minio:9000' },
    { BERTH_BLOBS_S3_ENDPOINT: 'https://minio/path' },
    { BERTH_BLOBS_S3_REGION: 'eu central' },
    { BERTH_BLOBS_S3_PREFIX: 'a//b' },
    { BERTH_BLOBS_S3_PREFIX: '../b' },
    { BERTH_BLOBS_S3_PATH_STYLE: 'perhaps' },
    { BERTH_BLOBS_REDIRECT: 'images.example' },
  ])
    assert.equal(problems({ BERTH_BLOBS_S3_BUCKET, ...wrong }).length, 1, JSON.stringify(wrong))
})

test('TLS needs both files', () => {
  for (const name of ['BERTH_TLS_CERT_FILE', 'BERTH_TLS_KEY_FILE'])
    assert.match(problems({ [name]: 'f' })[0] ?? '', /must be set together/)
  assert.deepEqual(read({ BERTH_TLS_CERT_FILE: 'c', BERTH_TLS_KEY_FILE: 'k' }).tls, {
    certFile: 'c',
    keyFile: 'k',
  })
})

test('a setting that does not exist is rejected with the one that was meant', () => {
  assert.deepEqual(problems({ BERTH_DATADIR: 'x' }), [
    'BERTH_DATADIR is not a setting of berth; did you mean BERTH_DATA_DIR?',
  ])
  assert.match(problems({ BERTH_NOPE: 'x' })[0] ?? '', /see berth serve --help/)
  assert.deepEqual(problems({ BERTH_TOKEN: 't', BERTH_TEST_X: 'x', HOME: '/', berth_listen: 'x' }), [])
})

test('the addresses are derived from the port unless they are set', () => {
  const at = 'http://127.0.0.1:8080'
  assert.deepEqual(addressesOf(read({}), at), {
    baseUrl: at,
    authUrl: at,
    registryHost: '127.0.0.1:8080',
    errorDomain: '127.0.0.1',
  })
  assert.deepEqual(addressesOf(read({ BERTH_BASE_URL: 'https://api.example.com' }), at), {
    baseUrl: 'https://api.example.com',
    authUrl: 'https://api.example.com',
    registryHost: 'api.example.com',
    errorDomain: 'api.example.com',
  })
  const configured = read({
    BERTH_AUTH_URL: 'https://auth.example.com',
    BERTH_REGISTRY_HOST: 'cr.example.com',
    BERTH_ERROR_DOMAIN: 'iam.example.com',
  })
  assert.deepEqual(addressesOf(configured, at), {
    baseUrl: at,
    authUrl: 'https://auth.example.com',
    registryHost: 'cr.example.com',
    errorDomain: 'iam.example.com',
  })
})
