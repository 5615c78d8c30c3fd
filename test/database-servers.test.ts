import assert from 'node:assert/strict'
import { chownSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { freePort } from '../scripts/free-port.ts'
import {
  assertUnavailable,
  observe,
  runLoad,
  startObservedServer,
  waitForRecovery,
} from './support/database/database-outage.ts'
import { startPgbouncer, withoutPgbouncer } from './support/database/pgbouncer.ts'
import { serverUser, startPostgres, startStandby, withoutPostgres } from './support/database/postgres.ts'
import { eventually } from './support/eventually.ts'
import { selfSignedCertificate } from './support/http/certificate.ts'
import { runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'

/** Several servers behind one address, a pooler before one, and TLS. */

test('a node passes by a standby that is named first, and follows it when it is promoted', {
  skip: withoutPostgres,
}, async (t) => {
  const primary = await startPostgres(t)
  const standby = await startStandby(t, primary)
  const url = `postgres://berth@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres?target_session_attrs=read-write`
  const node = await startObservedServer(
    t,
    { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_LOG_LEVEL: 'error', BERTH_DATABASE_URL: url },
    url,
  )
  assert.equal((await node.write()).status, 200)
  const running = runLoad(t, node, 4)
  await eventually(() => (running.seen.get('200/0') ?? 0) > 20)
  await primary.kill()
  // Nothing accepts writes now, and the standby must not be taken for something that does.
  assertUnavailable(await node.write())
  const ready = await node.get('/readyz')
  assert.equal(ready.status, 503)
  assert.match(await ready.text(), /database: /)
  standby.promote()
  t.diagnostic(`first write after ${await waitForRecovery(node.write)} ms`)
  assert.deepEqual(await running.stop(), [])
  assert.equal((await node.get('/readyz')).status, 200)
})

test('two nodes work through PgBouncer in transaction mode, migrations at their start included', {
  skip: withoutPostgres || withoutPgbouncer,
}, async (t) => {
  const postgres = await startPostgres(t)
  const pooled = await startPgbouncer(t, postgres, 6)
  const env = {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_LOG_LEVEL: 'warn',
    BERTH_DATABASE_URL: pooled,
    BERTH_BASE_URL: 'http://berth.test',
    // The first start makes the key, which the second node needs, too.
    BERTH_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  }
  const ports = [await freePort(), await freePort()]
  const started = await Promise.all(
    ports.map(async (port) => {
      const serving = await serveBerth(t, { ...env, BERTH_LISTEN: `127.0.0.1:${port}` })
      return { ...serving, url: `http://127.0.0.1:${port}` }
    }),
  )
  const { stdout: made } = await runBerth(t, ['admin', 'bootstrap', '--json'], env)
  const { token, organization } = JSON.parse(made)
  const nodes = started.map((serving) => observe({ serving, token, organization: organization.uid }))
  const all = nodes.map((node) => runLoad(t, node, 8))
  await eventually(() => all.every(({ seen }) => (seen.get('200/0') ?? 0) > 60))
  for (const one of all) {
    assert.deepEqual(await one.stop(), [])
    assert.equal(one.seen.get('503/14'), undefined, 'nothing failed')
  }
  const { code, stdout, stderr } = await runBerth(t, ['admin', 'check'], env)
  assert.equal(code, 0, stdout + stderr)
  for (const node of nodes) assert.equal((await node.get('/readyz')).status, 200)

  // Nothing stays behind in sessions that others use next.
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  client.on('error', () => undefined)
  const { rows } = await client.query(`select
      (select count(*)::int from pg_locks where locktype = 'advisory') as locks,
      (select count(*)::int from pg_stat_activity where application_name like 'berth %') as sessions`)
  assert.equal(rows[0].locks, 0)
  assert.ok(rows[0].sessions <= 6, `${rows[0].sessions} sessions`)
  const through = new pg.Client({ connectionString: pooled })
  await through.connect()
  through.on('error', () => undefined)
  for (let n = 0; n < 20; n++) {
    const { rows } =
      await through.query(`select current_setting('statement_timeout') || current_setting('lock_timeout') ||
        current_setting('idle_in_transaction_session_timeout') as bounds, (select count(*)::int from pg_prepared_statements) as named`)
    assert.deepEqual(rows[0], { bounds: '000', named: 0 })
  }
  await Promise.all([client.end(), through.end()])
})

test('the certificate of a database is verified, and errors name the problem', {
  skip: withoutPostgres,
}, async (t) => {
  const directory = temporaryDirectory(t)
  const { cert, key } = selfSignedCertificate({ names: ['db.test'] })
  const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')]
  const { uid = process.getuid?.() ?? 0, gid = process.getgid?.() ?? 0 } = serverUser()
  for (const [file, text] of [
    [certFile, cert],
    [keyFile, key],
  ] as const) {
    writeFileSync(file, text, { mode: 0o600 })
    chownSync(file, uid, gid)
  }
  chownSync(directory, uid, gid)
  const otherFile = join(directory, 'other.pem')
  writeFileSync(otherFile, selfSignedCertificate({ names: ['other.test'] }).cert)
  const { port } = await startPostgres(t, { ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile })
  /** A successful run prints nothing, no warning of the driver either. */
  const table: readonly (readonly [host: string, query: string, code: number, text: RegExp])[] = [
    ['127.0.0.1', `sslmode=require&sslrootcert=${certFile}`, 0, /^$/],
    ['127.0.0.1', 'sslmode=no-verify', 0, /^$/],
    [
      '127.0.0.1',
      'sslmode=require',
      1,
      /certificate of PostgreSQL is not signed by a trusted CA: .*Add sslrootcert=/,
    ],
    ['127.0.0.1', `sslmode=require&sslrootcert=${otherFile}`, 1, /the CA in sslrootcert has not signed/],
    ['localhost', `sslmode=require&sslrootcert=${certFile}`, 1, /cannot be verified: Hostname.* altnames/],
    [
      '127.0.0.1',
      'sslmode=require&sslrootcert=/none.pem',
      1,
      /sslrootcert of the address cannot be read: .*\/none\.pem/,
    ],
    [
      '127.0.0.1',
      `sslmode=require&sslcert=${certFile}&sslrootcert=${directory}`,
      1,
      /sslrootcert of the address cannot be read: EISDIR/,
    ],
  ]
  const dataDirectory = temporaryDirectory(t)
  for (const [host, query, code, text] of table) {
    const ran = await runBerth(t, ['migrate'], {
      BERTH_DATA_DIR: dataDirectory,
      BERTH_DATABASE_URL: `postgres://berth@${host}:${port}/postgres?${query}`,
    })
    assert.equal(ran.code, code, `${query}: ${ran.stderr}`)
    assert.match(ran.stderr.trimEnd(), text, query)
  }

  // A file of the installation that cannot be read is not one of the address.
  const loop = join(temporaryDirectory(t), 'master.key')
  symlinkSync(loop, loop)
  const { code, stderr } = await runBerth(t, ['migrate'], {
    BERTH_DATA_DIR: dirname(loop),
    BERTH_DATABASE_URL: `postgres://berth@127.0.0.1:${port}/postgres?sslmode=require&sslrootcert=${certFile}`,
  })
  assert.notEqual(code, 0)
  assert.match(stderr, /master\.key/)
  assert.doesNotMatch(stderr, /BERTH_DATABASE_URL/)
})
