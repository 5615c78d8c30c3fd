import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { settings } from '@berth/server/installation/config.ts'
import { parse } from 'yaml'
import { freePort } from '../scripts/free-port.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { ociClient, pushBlob } from './support/registry/registry.ts'
import { startS3, withoutOwnS3 } from './support/registry/s3.ts'
import { isInstalled } from './support/server/monitoring.ts'
import { runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'

/** The files of deploy/ that run Berth. Other suites: proxies, long/helm, long/image. */

const SYSTEMD = 'deploy/systemd/berth.service'
const COMPOSE = 'deploy/compose'
/** Variables of the compose file and of Caddy, which Berth does not read. */
const OWN_VARIABLES = ['BERTH_ADDRESS', 'BERTH_HOST', 'BERTH_IMAGE', 'BERTH_PUBLISH', 'BERTH_SUBNET']
/** Exposure that `systemd-analyze security` computes, in tenths; 100 is without any protection. */
const EXPOSURE_MAX = 15

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

test('every setting in the files is a setting of the server', () => {
  const known = new Set([...settings.map(({ name }) => name), ...OWN_VARIABLES])
  const files = globSync('deploy/**/*', { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  const unknown = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bBERTH_[A-Z0-9_]+/g)]
      .filter(([name]) => !known.has(name))
      .map(([name]) => `${file}: ${name}`),
  )
  assert.deepEqual(unknown, [])
  assert.ok(files.length > 20)
})

test('the chart has the version of this release', () => {
  const chart = parse(readFileSync('deploy/helm/berth/Chart.yaml', 'utf8'))
  assert.deepEqual([chart.version, chart.appVersion], [version, version])
})

test('systemd accepts the unit, which exposes little of the machine', {
  skip: !isInstalled('systemd-analyze') && 'no systemd-analyze on this machine',
}, (t) => {
  const unit = join(temporaryDirectory(t), 'berth.service')
  const text = readFileSync(SYSTEMD, 'utf8')
  assert.ok(text.includes('ExecStart=/usr/local/bin/berth serve'))
  writeFileSync(unit, text.replace('/usr/local/bin/berth', process.execPath))
  for (const args of [
    ['verify', '--man=no', unit],
    ['security', '--offline=true', `--threshold=${EXPOSURE_MAX}`, unit],
  ]) {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
    assert.equal(status, 0, `${stdout}${stderr}`)
    if (args[0] === 'verify') assert.equal(stderr, '')
  }
})

test('every service of the compose file has a read-only file system and no capabilities that it does not need', () => {
  const { services } = composeFile()
  assert.deepEqual(Object.keys(services).sort(), ['berth', 'bucket', 'caddy', 'postgres', 's3'])
  for (const service of Object.values(services)) {
    assert.equal(service.read_only, true)
    assert.deepEqual(service.cap_drop, ['ALL'])
  }
})

test('the secrets and settings of the compose file work with PostgreSQL and an S3 gateway', {
  skip: withoutPostgres || withoutOwnS3,
}, async (t) => {
  const directory = join(temporaryDirectory(t), 'compose')
  cpSync(COMPOSE, directory, { recursive: true })
  const create = () => spawnSync(join(directory, 'create-secrets'), { encoding: 'utf8' })
  const created = create()
  assert.equal(created.status, 0, created.stderr)
  const secret = (name: string) => readFileSync(join(directory, 'secrets', name), 'utf8')
  const before = secret('berth.env')
  create()
  assert.equal(secret('berth.env'), before, 'a second run keeps the secrets')
  assert.equal(statSync(join(directory, 'secrets')).mode & 0o777, 0o700)

  const keys = variables(secret('s3.env'))
  for (const [name, value] of [
    ['AWS_ACCESS_KEY_ID', keys['ROOT_ACCESS_KEY']],
    ['AWS_SECRET_ACCESS_KEY', keys['ROOT_SECRET_KEY']],
  ] as const)
    setVariable(t, name, value ?? '')
  const s3 = await startS3()
  t.after(() => s3.stop())
  const postgres = await startPostgres(t)
  const { services } = composeFile()
  const inCompose = (environment: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [
        name,
        value.replace(/\$\{\w+:-(.*?)\}/g, '$1').replace('http://s3:7070', s3.url),
      ]),
    )

  const createBucket = () =>
    spawnSync(process.execPath, [`${COMPOSE}/create-bucket.cjs`], {
      encoding: 'utf8',
      env: { ...inCompose(services['bucket']?.environment ?? {}), ...keys },
    })
  assert.equal(createBucket().stdout, 'created berth-images\n')
  assert.deepEqual([createBucket().stdout, createBucket().status], ['', 0])

  const settingsFile = join(directory, 'berth.env')
  const password = secret('postgres-password')
  assert.ok(before.includes(`BERTH_DATABASE_URL=postgres://berth:${password}@postgres/berth\n`))
  writeFileSync(
    settingsFile,
    before.replace(/^BERTH_DATABASE_URL=.*$/m, `BERTH_DATABASE_URL=${postgres.url}`),
  )
  const env = {
    ...inCompose(services['berth']?.environment ?? {}),
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_ENV_FILE: settingsFile,
  }
  const address = `127.0.0.1:${await freePort()}`
  await serveBerth(t, { ...env, BERTH_LISTEN: address })
  const admin = async (...args: string[]) => {
    const { code, stdout, stderr } = await runBerth(t, ['admin', ...args], env)
    assert.equal(code, 0, stderr)
    return stdout.trim()
  }
  await admin('bootstrap', '--name', 'acme')
  const token = await admin('token', '--audience', 'localhost:8080')
  const registry = ociClient({ url: `http://${address}` }, `Bearer ${token}`)
  const digest = await pushBlob(registry, 'acme/app', Buffer.from('a layer'))
  assert.equal((await registry.request('GET', `acme/app/blobs/${digest}`)).bytes.toString(), 'a layer')
})

interface ComposeService {
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

function composeFile(): { readonly services: Readonly<Record<string, ComposeService>> } {
  return parse(readFileSync(`${COMPOSE}/compose.yaml`, 'utf8'))
}

function variables(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]))
}

/** Sets a variable of this process until the end of the test. */
function setVariable(t: TestContext, name: string, value: string): void {
  const former = process.env[name]
  process.env[name] = value
  t.after(() => {
    if (former === undefined) delete process.env[name]
    else process.env[name] = former
  })
}
