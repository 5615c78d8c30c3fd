import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import type { CheckResult } from '@berth/server/operator/check.ts'
import { newMasterKey } from '@berth/server/runtime/encryption.ts'
import Database from 'better-sqlite3'
import pg from 'pg'
import { freePort } from '../scripts/free-port.ts'
import { onEveryDatabase } from './support/api/api-fixture.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { assertGolden } from './support/golden.ts'
import {
  type Cleanup,
  type Environment,
  runBerth,
  serveBerth,
  temporaryDirectory,
} from './support/server/process.ts'

/** `berth admin check` finds what is wrong with an installation and changes nothing. */

async function check(t: Cleanup, env: Environment) {
  const { code, stdout, stderr } = await runBerth(t, ['admin', 'check', '--json'], env)
  assert.equal(stderr, '')
  const { checks } = JSON.parse(stdout) as { checks: readonly CheckResult[] }
  return { code, checks, of: (name: string) => checks.find((one) => one.name === name) }
}

/** The data directory of a server that ran once. */
async function usedDirectory(t: Cleanup): Promise<string> {
  const directory = temporaryDirectory(t)
  const server = await serveBerth(t, { BERTH_DATA_DIR: directory })
  server.child.kill('SIGTERM')
  await server.finished
  return directory
}

/** A request that a proxy passes on. */
const forwardedTo = (url: string) => fetch(`${url}/healthz`, { headers: { 'x-forwarded-for': '192.0.2.1' } })

const everything = [
  'configuration',
  'data directory',
  'disk space',
  'database',
  'master key',
  'blob store',
  'signing keys',
  'trusted proxies',
  'base URL',
]

test('admin check finds nothing wrong with a new installation, and prints a line for each check', async (t) => {
  const env = { BERTH_DATA_DIR: await usedDirectory(t) }
  const { code, checks } = await check(t, env)
  assert.deepEqual(
    checks.map(({ name }) => name),
    everything,
  )
  for (const one of checks) assert.deepEqual([one.result, one.action], ['ok', ''], JSON.stringify(one))
  assert.equal(code, 0)
  const { stdout } = await runBerth(t, ['admin', 'check'], env)
  const text = stdout.replaceAll(env.BERTH_DATA_DIR, '<data>').replaceAll(/[\d.]+ GiB/g, '<size>')
  assertGolden('admin-check.txt', text.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>'))
})

test('admin check names what is wrong and what to do, and ends with exit code 1 if a check fails', async (t) => {
  const directory = await usedDirectory(t)
  const env = { BERTH_DATA_DIR: directory }
  const damaged = temporaryDirectory(t)
  writeFileSync(join(damaged, 'berth.db'), 'x'.repeat(4096))
  const file = join(damaged, 'berth.txt')
  writeFileSync(file, '')
  const table: Record<string, [env: Environment, name: string, CheckResult['result'], RegExp]> = {
    'reserve that is not free': [
      { ...env, BERTH_DISK_RESERVE: '900000TiB' },
      'disk space',
      'fail',
      /pushes are rejected below/,
    ],
    'a setting that cannot be read': [
      { BERTH_LISTEN: 'nowhere' },
      'configuration',
      'fail',
      /BERTH_LISTEN must be .*berth serve --help/,
    ],
    'a file instead of a data directory': [
      { BERTH_DATA_DIR: file },
      'data directory',
      'fail',
      /\/berth\.txt is not a directory .*BERTH_DATA_DIR/,
    ],
    'a damaged database': [
      { BERTH_DATA_DIR: damaged },
      'database',
      'fail',
      /^the data directory .* cannot be used: .*berth\.db is not a SQLite database .*restore a backup/,
    ],
    'no data directory': [
      { BERTH_DATA_DIR: join(directory, 'none') },
      'data directory',
      'fail',
      /none does not exist.*BERTH_DATA_DIR/,
    ],
    'an empty data directory': [
      { BERTH_DATA_DIR: temporaryDirectory(t) },
      'database',
      'fail',
      /berth\.db does not exist/,
    ],
    'no PostgreSQL': [
      { BERTH_DATABASE_URL: `postgres://berth@127.0.0.1:${await freePort()}/berth` },
      'database',
      'fail',
      /PostgreSQL cannot be used.*BERTH_DATABASE_URL/,
    ],
    'another master key': [
      { BERTH_MASTER_KEY: Buffer.from(newMasterKey()).toString('base64') },
      'master key',
      'fail',
      /another master key/,
    ],
    'TLS files that are not there': [
      { BERTH_TLS_CERT_FILE: 'c', BERTH_TLS_KEY_FILE: 'k' },
      'TLS certificate',
      'fail',
      /BERTH_TLS_CERT_FILE cannot be read/,
    ],
    'a file of sign-in providers that is no JSON': [
      { BERTH_SIGN_IN_PROVIDERS_FILE: join(damaged, 'berth.db') },
      'sign-in providers',
      'fail',
      /BERTH_SIGN_IN_PROVIDERS_FILE .*not JSON/,
    ],
    'an access log in a directory that is not there': [
      { BERTH_ACCESS_LOG: '/no/such/directory/access.log' },
      'access log',
      'fail',
      /BERTH_ACCESS_LOG: ENOENT/,
    ],
    'a certificate of the collector that is no PEM': [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'https://127.0.0.1:4318',
        OTEL_EXPORTER_OTLP_CERTIFICATE: join(damaged, 'berth.db'),
      },
      'traces',
      'fail',
      /OTEL_EXPORTER_OTLP_CERTIFICATE: .* is not a PEM file/,
    ],
    'TLS and an http base URL': [
      { BERTH_TLS_CERT_FILE: 'c', BERTH_TLS_KEY_FILE: 'k', BERTH_BASE_URL: 'http://berth.example.com' },
      'base URL',
      'fail',
      /the port uses TLS/,
    ],
    'a base URL that is not encrypted': [
      { BERTH_BASE_URL: 'http://berth.example.com' },
      'base URL',
      'warn',
      /not encrypted.*BERTH_TLS_CERT_FILE/,
    ],
    'a public port without a base URL': [
      { BERTH_LISTEN: '0.0.0.0:8080' },
      'base URL',
      'warn',
      /Set BERTH_BASE_URL/,
    ],
    'a proxy that ends TLS': [
      { BERTH_BASE_URL: 'https://berth.example.com' },
      'trusted proxies',
      'warn',
      /a proxy ends TLS.*BERTH_TRUSTED_PROXIES/,
    ],
  }
  await Promise.all(
    Object.entries(table).map(async ([what, [changed, name, result, text]]) => {
      const { code, of } = await check(t, { ...env, ...changed })
      const found = of(name)
      assert.equal(found?.result, result, what)
      assert.match(`${found.message} ${found.action}`, text, what)
      assert.equal(code, result === 'fail' ? 1 : 0, what)
    }),
  )

  const database = new Database(join(directory, 'berth.db'))
  database.prepare("insert into migrations (name, timestamp) values ('9999-future', 'now')").run()
  const newer = (await check(t, env)).of('database')
  assert.match(`${newer?.result} ${newer?.message}`, /^fail .*does not know: 9999-future/)
  database.prepare("delete from migrations where name >= '0007'").run()
  const older = (await check(t, env)).of('database')
  assert.match(
    `${older?.result} ${older?.message} ${older?.action}`,
    /^fail .*lacks migrations: 0007.* berth migrate/,
  )
  database.close()

  const other = await usedDirectory(t)
  writeFileSync(join(other, 'blobs', 'store-identity'), `${'0'.repeat(32)}\n`)
  const foreign = (await check(t, { BERTH_DATA_DIR: other })).of('blob store')
  assert.match(
    `${foreign?.result} ${foreign?.message}`,
    /^fail .*has the identity 0{32}, and the database expects/,
  )

  const keyless = await usedDirectory(t)
  rmSync(join(keyless, 'master.key'))
  const lost = (await check(t, { BERTH_DATA_DIR: keyless })).of('master key')
  assert.match(`${lost?.result} ${lost?.message}`, /^fail .*master\.key does not exist/)
})

test('admin check and serve name what is wrong with PostgreSQL, and the setting', {
  skip: withoutPostgres,
}, async (t) => {
  const { url } = await startPostgres(t)
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  t.after(() => client.end())
  const { rows } = await client.query('show hba_file')
  await client.query("create role ada login password 'right'")
  await client.query(
    `copy (values ('host all berth 127.0.0.1/32 trust'), ('host all ada 127.0.0.1/32 scram-sha-256')) to '${rows[0].hba_file}'`,
  )
  await client.query('select pg_reload_conf()')
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_LISTEN: '127.0.0.1:0' }
  assert.equal((await runBerth(t, ['migrate'], { ...env, BERTH_DATABASE_URL: url })).code, 0)
  const settings = (await check(t, { ...env, BERTH_DATABASE_URL: url })).of('database settings')
  assert.match(
    `${settings?.result} ${settings?.message}`,
    /^ok max_connections leaves 197 connections, enough for 9 nodes with 21 each$/,
  )
  const at = (change: Partial<URL>) => Object.assign(new URL(url), change).href
  const several = (one: string) => one.replace(/(@[^/]+)/, '$1,127.0.0.1:1')
  const table: readonly (readonly [url: string, code: number, text: RegExp])[] = [
    [
      at({ hostname: 'nowhere.invalid' }),
      3,
      /the host nowhere\.invalid of the database cannot be resolved \(BERTH_DATABASE_URL\)/,
    ],
    [
      at({ username: 'ada', password: 'wrong' }),
      1,
      /BERTH_DATABASE_URL: PostgreSQL does not accept the password of ada/,
    ],
    [
      at({ username: 'ada', password: 'right' }),
      1,
      /BERTH_DATABASE_URL: the user may not change the schema|permission denied/,
    ],
    [at({ pathname: '/none' }), 1, /BERTH_DATABASE_URL: the database none does not exist; create it/],
    // Without the connection being closed, the process ended only when the server gave up, after a minute.
    [at({ username: 'ada' }), 1, /BERTH_DATABASE_URL: PostgreSQL requires the password of ada/],
    [
      several(at({ username: 'ada', password: 'wrong' })),
      1,
      /BERTH_DATABASE_URL: PostgreSQL does not accept the password of ada/,
    ],
    [
      several(at({ pathname: '/none' })),
      1,
      /BERTH_DATABASE_URL: the database none does not exist; create it/,
    ],
    [
      'postgres://berth@/postgres?host=/no/socket',
      3,
      /the database has no socket in \/no\/socket \(BERTH_DATABASE_URL\)/,
    ],
  ]
  await Promise.all(
    table.map(async ([databaseUrl, code, text]) => {
      const refused = await runBerth(t, ['serve'], { ...env, BERTH_DATABASE_URL: databaseUrl })
      assert.match(refused.stderr, text)
      assert.equal(refused.code, code, refused.stderr)
      assert.ok(!refused.stderr.includes('wrong'))
      const found = (await check(t, { ...env, BERTH_DATABASE_URL: databaseUrl })).of('database')
      assert.deepEqual([found?.result, text.test(found?.message ?? '')], ['fail', true], found?.message)
    }),
  )
  await client.query('create database empty')
  const withoutRights = at({ username: 'ada', password: 'right', pathname: '/empty' })
  const migration = await runBerth(t, ['migrate'], { ...env, BERTH_DATABASE_URL: withoutRights })
  assert.match(
    migration.stderr,
    /BERTH_DATABASE_URL: the user may not change the schema: permission denied for schema public/,
  )
  await client.query('alter database postgres set default_transaction_read_only = on')
  const readOnly = (await check(t, { ...env, BERTH_DATABASE_URL: url })).of('database settings')
  assert.match(`${readOnly?.result} ${readOnly?.message}`, /^fail the database is read-only/)
  const refused = await runBerth(t, ['serve'], { ...env, BERTH_DATABASE_URL: url })
  assert.match(refused.stderr, /^berth: BERTH_DATABASE_URL: the database is read-only/m)
})

test('R39: admin check reports a proxy that is not trusted until the server starts with trusted proxies', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const server = await serveBerth(t, env)
  await fetch(`${server.url}/iam/v2beta1/groups`)
  const stop = async ({ child, finished }: typeof server) => {
    child.kill('SIGTERM')
    return finished
  }
  assert.equal((await check(t, env)).of('trusted proxies')?.result, 'ok')
  for (let n = 0; n < 3; n++) await forwardedTo(server.url)
  const { stderr } = await stop(server)
  const warnings = stderr.split('\n').filter((line) => line.includes('BERTH_TRUSTED_PROXIES'))
  assert.equal(warnings.length, 1, stderr)
  assert.match(warnings[0] ?? '', /"level":40.*"address":"127\.0\.0\.1".*lock them out together/)

  const warned = await check(t, env)
  const found = warned.of('trusted proxies')
  assert.equal(found?.result, 'warn')
  assert.match(`${found.message} ${found.action}`, /from 127\.0\.0\.1.*set BERTH_TRUSTED_PROXIES/)
  assert.equal(warned.code, 0)

  const trusting = await serveBerth(t, { ...env, BERTH_TRUSTED_PROXIES: '127.0.0.0/8' })
  await forwardedTo(trusting.url)
  assert.doesNotMatch((await stop(trusting)).stderr, /BERTH_TRUSTED_PROXIES/)
  assert.equal((await check(t, env)).of('trusted proxies')?.result, 'ok')
})

onEveryDatabase('a proxy that is not trusted', (cast) => {
  test('R39: is warned of once in untrustedProxyNoticeMs, and counted each time', async () => {
    const { berth } = cast()
    const counted = async () =>
      Number(
        /^berth_forwarded_untrusted_total (\d+)$/m.exec(
          await (await fetch(`${berth.url}/metrics`)).text(),
        )?.[1],
      )
    const warnings = () => berth.warnings.filter(({ message }) => message.includes('X-Forwarded-For')).length
    for (let n = 0; n < 3; n++) await forwardedTo(berth.url)
    assert.deepEqual([await counted(), warnings()], [3, 1])
    berth.advance(limits.untrustedProxyNoticeMs)
    await forwardedTo(berth.url)
    assert.deepEqual([await counted(), warnings()], [4, 2])
  })
})
