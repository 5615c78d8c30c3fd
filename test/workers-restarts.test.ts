import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import Database from 'better-sqlite3'
import { databases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { type Cleanup, runBerth, temporaryDirectory } from './support/server/process.ts'
import { type ServerWithWorkers, startWithWorkers } from './support/server/workers.ts'

/** Workers that are started again while something has changed: the program, the database, settings, files. */

const skip = !databases.some(({ name }) => name === 'sqlite') && 'not among BERTH_TEST_DATABASES'

async function workersReady(url: string): Promise<readonly (string | undefined)[]> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return ['berth_workers', 'berth_workers_ready'].map(
    (name) => new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1],
  )
}

/** Changes the migrations that the database of a running server records. */
function changeMigrations({ settings }: ServerWithWorkers, statement: string): void {
  const db = new Database(join(settings['BERTH_DATA_DIR'] ?? '', 'berth.db'))
  db.pragma('busy_timeout = 30000')
  db.exec(statement)
  db.close()
}

const ADD_NEWER_MIGRATION = `insert into migrations (name, timestamp) values ('9999-newer', '2030-01-01')`
const DELETE_NEWER_MIGRATION = `delete from migrations where name = '9999-newer'`

const linesWith = ({ output }: ServerWithWorkers, text: string) =>
  output()
    .stderr.split('\n')
    .filter((line) => line.includes(text))

test('a worker that cannot start again leaves the others serving', { skip }, async (t) => {
  const server = await startWithWorkers(t, 'sqlite')
  changeMigrations(server, ADD_NEWER_MIGRATION)
  const other = server.pid(2)
  process.kill(server.pid(1), 'SIGKILL')
  for (let failed = 1; failed <= limits.workerStartsMax + 1; failed++)
    await server.untilLogged('"code":6,"pauseMs"', failed)
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
  assert.deepEqual(await workersReady(server.url), ['2', '1'])
  assert.equal(server.pid(2), other)

  changeMigrations(server, DELETE_NEWER_MIGRATION)
  await eventually(async () => (await workersReady(server.url)).join() === '2,2')
})

test('a server ends when no worker is ready and none can start', { skip }, async (t) => {
  const server = await startWithWorkers(t, 'sqlite')
  changeMigrations(server, ADD_NEWER_MIGRATION)
  for (const worker of [1, 2]) process.kill(server.pid(worker), 'SIGKILL')
  const { code, stderr } = await server.finished
  assert.equal(code, 6)
  assert.match(
    stderr,
    new RegExp(`no worker is ready, and each could not start ${limits.workerStartsMax} times in a row`),
  )
  assert.ok((stderr.match(/^berth: a newer version/gm)?.length ?? 0) >= 2 * limits.workerStartsMax, stderr)
})

/** Variables with which the program has the version of a file, while there is one. */
function replaceableVersion(t: Cleanup) {
  const directory = temporaryDirectory(t)
  const [module, file] = [join(directory, 'version.mjs'), join(directory, 'version')]
  writeFileSync(
    module,
    `import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { readFileSync } = fs
    fs.readFileSync = (path, ...options) => {
      const text = readFileSync(path, ...options)
      const isManifest = path instanceof URL && path.pathname.endsWith('/package.json')
      if (!isManifest || !fs.existsSync(${JSON.stringify(file)})) return text
      return JSON.stringify({ ...JSON.parse(text), version: readFileSync(${JSON.stringify(file)}, 'utf8') })
    }
    syncBuiltinESMExports()`,
  )
  return {
    env: { NODE_OPTIONS: `--import=${module}` },
    replace: (version: string) => writeFileSync(file, version),
    restore: () => rmSync(file),
  }
}

test('workers of another version do not join a running server, and never migrate', { skip }, async (t) => {
  const version = replaceableVersion(t)
  const server = await startWithWorkers(t, 'sqlite', version.env)
  const serves = async () => assert.equal((await fetch(`${server.url}/readyz`)).status, 200)

  await t.test('a package that was upgraded in place', async () => {
    version.replace('99.0.0')
    process.kill(server.pid(1), 'SIGKILL')
    await server.untilLogged('"code":3,"pauseMs"', 2)
    const [line = '', ...others] = linesWith(server, 'Restart the server')
    assert.match(line, /"level":50.*the installed program is version 99\.0\.0, and this server runs /)
    assert.deepEqual(others, [], 'one line for all attempts')
    await serves()
    version.restore()
    await eventually(async () => (await workersReady(server.url)).join() === '2,2')
  })

  await t.test('a program with more migrations', async () => {
    const last = '0040-exploited'
    changeMigrations(server, `update migrations set name = 'zzz-absent' where name = '${last}'`)
    changeMigrations(server, `delete from migrations where name = 'zzz-absent'`)
    process.kill(server.pid(2), 'SIGKILL')
    await server.untilLogged('"worker":2,"code":3,"pauseMs"')
    assert.match(
      linesWith(server, 'requires the migrations').join(),
      new RegExp(`${last}.*Restart the server`),
    )
    await serves()
    changeMigrations(server, `insert into migrations (name, timestamp) values ('${last}', '2026-01-01')`)
    await eventually(async () => (await workersReady(server.url)).join() === '2,2')
  })

  await t.test('the server ends when no other worker serves', async () => {
    version.replace('99.0.0')
    for (const worker of [1, 2]) process.kill(server.pid(worker), 'SIGKILL')
    const { code, stderr } = await server.finished
    assert.equal(code, 3)
    assert.match(stderr, /none can start before the server is started again: the server stops/)
  })
})

test('a worker that replaces another one uses the settings and files of the last reload', {
  skip,
}, async (t) => {
  const directory = temporaryDirectory(t)
  const [file, providers] = [join(directory, 'env'), join(directory, 'providers.json')]
  const secret = 'a-secret-of-the-settings-file'
  const write = (limit: number, label: string) => {
    const settings = {
      BERTH_RATE_LIMITS_ADDRESS: `read=${limit}/1h`,
      BERTH_SIGN_IN_PROVIDERS_FILE: providers,
      AWS_SECRET_ACCESS_KEY: secret,
    }
    writeFileSync(
      file,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    )
    writeFileSync(
      providers,
      JSON.stringify([{ name: 'example', label, issuer: 'https://issuer.example', clientId: 'berth' }]),
    )
  }
  write(1000, 'At the start')
  const server = await startWithWorkers(t, 'sqlite', { BERTH_ENV_FILE: file })
  const origins = [await server.origin(1), await server.origin(2)]
  const uses = (url: string) =>
    Promise.all([
      fetch(`${url}/iam/v2beta1/groups`).then(({ headers }) => headers.get('ratelimit-limit')),
      fetch(`${url}/sign-in`).then(
        async (page) => /At the start|Reloaded|Edited/.exec(await page.text())?.[0],
      ),
    ])
  const replace = async (worker: number) => {
    const former = server.pid(worker)
    process.kill(former, 'SIGKILL')
    await eventually(() => server.pid(worker) !== former)
    await eventually(async () => (await workersReady(server.url)).join() === '2,2')
  }

  write(900, 'Edited')
  await replace(1)
  for (const origin of origins) assert.deepEqual(await uses(origin), ['1000', 'At the start'])

  write(800, 'Reloaded')
  server.child.kill('SIGHUP')
  await server.untilLogged('reload: the settings and files were read again', 2)
  writeFileSync(file, 'this is no setting\n')
  writeFileSync(providers, 'this is no JSON')
  await replace(2)
  for (const origin of origins) assert.deepEqual(await uses(origin), ['800', 'Reloaded'])

  // A signal to a worker alone must not make it differ from the others.
  write(700, 'Edited')
  process.kill(server.pid(1), 'SIGHUP')
  await replace(2)
  for (const origin of origins) assert.deepEqual(await uses(origin), ['800', 'Reloaded'])
  server.child.kill('SIGHUP')
  await server.untilLogged('reload: the settings and files were read again', 4)
  for (const origin of origins) assert.deepEqual(await uses(origin), ['700', 'Edited'])

  const { stdout, stderr } = server.output()
  assert.ok(!`${stdout}${stderr}`.includes(secret), 'the log has no secrets')
  if (process.platform === 'linux')
    for (const worker of [1, 2])
      assert.ok(!readFileSync(`/proc/${server.pid(worker)}/cmdline`, 'utf8').includes(secret))
})

test('a bucket that does not respond has the exit code of a start that can succeed later', {
  skip,
}, async (t) => {
  for (const BERTH_WORKERS of ['1', '2']) {
    const { code, stderr } = await runBerth(t, ['serve'], {
      BERTH_DATA_DIR: temporaryDirectory(t),
      BERTH_LISTEN: '127.0.0.1:0',
      BERTH_LOG_LEVEL: 'error',
      BERTH_WORKERS,
      BERTH_BLOBS_S3_BUCKET: 'images',
      BERTH_BLOBS_S3_ENDPOINT: 'http://127.0.0.1:9',
      AWS_ACCESS_KEY_ID: 'key',
      AWS_SECRET_ACCESS_KEY: 'secret',
    })
    assert.match(stderr, /^berth: cannot connect to bucket images: ECONNREFUSED/m)
    assert.equal(code, 3)
  }
})
