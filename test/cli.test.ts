import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createProgram, loadAllCommands } from '@berth/cli/commands.ts'
import { loadServerModule, type ServerPackage } from '@berth/cli/server-package.ts'
import type { Command } from 'commander'
import { decodeJwt } from 'jose'
import { freePort } from '../scripts/free-port.ts'
import { call } from './support/api/rest.ts'
import { bindRole, createIdentity } from './support/api/tenant.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { eventually } from './support/eventually.ts'
import { assertGolden } from './support/golden.ts'
import { rawConnection } from './support/http/port.ts'
import {
  type Cleanup,
  type Finished,
  runBerth,
  serveBerth,
  spawnBerth,
  temporaryDirectory,
} from './support/server/process.ts'

/** Exactly these lines on standard error, nothing on standard output, and exit code 1. */
function assertRefused(finished: Finished, ...lines: (string | RegExp)[]): void {
  assertExit(1, finished, ...lines)
}

function assertExit(
  expected: number,
  { code, stdout, stderr }: Finished,
  ...lines: (string | RegExp)[]
): void {
  assert.equal(code, expected, stderr)
  assert.equal(stdout, '')
  const printed = stderr.trimEnd().split('\n')
  assert.equal(printed.length, lines.length, stderr)
  lines.forEach((line, at) => {
    if (typeof line === 'string') assert.equal(printed[at], line)
    else assert.match(printed[at] ?? '', line)
  })
}

test('serve prints one ready line; the first start says what to do next, the second does not', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const first = await serveBerth(t, env)
  assert.match(first.url, /^http:\/\/127\.0\.0\.1:[0-9]+$/)
  assert.equal((await call('GET', `${first.url}/readyz`).catch(() => undefined))?.status ?? 200, 200)
  first.child.kill('SIGTERM')
  const { code, stdout } = await first.finished
  assert.equal(code, 0)
  assert.equal(stdout.match(/^ready /gm)?.length, 1)
  assert.match(
    stdout,
    /This is the first start[\s\S]*\/setup\?code=[\w-]{43}\n[\s\S]*berth admin bootstrap[\s\S]*berth admin token/,
  )
  assert.ok(stdout.includes(`export BERTH_DATA_DIR=${env.BERTH_DATA_DIR}\n`), stdout)

  const second = await serveBerth(t, env)
  second.child.kill('SIGINT')
  const again = await second.finished
  assert.equal(again.code, 0)
  const link = `There is no account yet. Create the owner account with this link: ${second.url}/setup?code=`
  assert.match(again.stdout.replaceAll(link, 'LINK '), new RegExp(`^ready ${second.url}\nLINK [\\w-]{43}\n$`))
})

test('migrating before the first start does not keep it from being one', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  assert.equal((await runBerth(t, ['migrate'], env)).code, 0)
  const server = await serveBerth(t, env)
  server.child.kill('SIGTERM')
  assert.match((await server.finished).stdout, /This is the first start/)
})

test('every invalid setting is reported, unknown names with the one that was probably meant', async (t) => {
  const env = {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_LISTEN: 'everywhere',
    BERTH_BASE_URL: 'https://berth.example/path',
    BERTH_MASTER_KEY: 'short',
    BERTH_OPEN_ORGANIZATIONS: 'yes',
    BERTH_RESOURCE_LIMITS: 'groups=1,ships=2',
    BERTH_BLOCKED_EMAIL_DOMAINS: 'example.com,everyone',
    BERTH_ISSUER_PRIVATE_NETWORKS: '10.0.0.0/8,nowhere',
    BERTH_TLS_CERT_FILE: '/cert.pem',
    BERTH_LOG_LEVEL: 'loud',
    BERTH_BASEURL: 'x',
    BERTH_COLOUR: 'blue',
  }
  for (const args of [['serve'], ['migrate'], ['admin', 'token'], ['admin', 'bootstrap']]) {
    // Problems are in the order of the variables, which a thread does not keep.
    const finished = await runBerth(t, args, env, { ownProcess: true })
    assertRefused(
      finished,
      /^berth: BERTH_BASEURL is not a setting of berth; did you mean BERTH_BASE_URL\?$/,
      /^berth: BERTH_COLOUR is not a setting of berth; see berth serve --help$/,
      /^berth: BERTH_MASTER_KEY must be 32 bytes in base64/,
      /^berth: BERTH_TLS_CERT_FILE and BERTH_TLS_KEY_FILE must be set together$/,
      /^berth: BERTH_LISTEN must be /,
      /^berth: BERTH_BASE_URL must be /,
      /^berth: BERTH_OPEN_ORGANIZATIONS must be true or false$/,
      /^berth: BERTH_RESOURCE_LIMITS: "ships=2" must be KIND=NUMBER/,
      /^berth: BERTH_BLOCKED_EMAIL_DOMAINS: "everyone" must be a domain/,
      /^berth: BERTH_ISSUER_PRIVATE_NETWORKS: "nowhere" must be /,
      /^berth: BERTH_LOG_LEVEL must be one of /,
    )
    assert.ok(!finished.stderr.includes('short'), 'the value of a secret')
  }
})

test('a port that is taken is one line', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => void server.close())
  const { port } = server.address() as { port: number }
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_LISTEN: `127.0.0.1:${port}` }
  assertRefused(
    await runBerth(t, ['serve'], env),
    `berth: 127.0.0.1:${port} is in use; choose another address with BERTH_LISTEN`,
  )
  const elsewhere = await runBerth(t, ['serve'], { ...env, BERTH_LISTEN: '192.0.2.1:8080' })
  assertRefused(elsewhere, 'berth: BERTH_LISTEN: 192.0.2.1 is not an address of this machine')
  const metrics = { ...env, BERTH_LISTEN: '127.0.0.1:0', BERTH_METRICS_LISTEN: `127.0.0.1:${port}` }
  assertRefused(
    await runBerth(t, ['serve'], metrics),
    `berth: 127.0.0.1:${port} is in use; choose another address with BERTH_METRICS_LISTEN`,
  )
  const noFiles = {
    ...env,
    BERTH_LISTEN: '127.0.0.1:0',
    BERTH_TLS_CERT_FILE: '/nowhere.pem',
    BERTH_TLS_KEY_FILE: '/nowhere.pem',
  }
  assertRefused(
    await runBerth(t, ['serve'], noFiles),
    /^berth: BERTH_TLS_CERT_FILE cannot be read: .*\/nowhere\.pem/,
  )
})

test('commands that need an installation make none where the data directory is missing', async (t) => {
  const dataDir = join(temporaryDirectory(t), 'elsewhere')
  for (const args of [['token'], ['organization', 'my-org']]) {
    const finished = await runBerth(t, ['admin', ...args], { BERTH_DATA_DIR: dataDir })
    assertRefused(finished, new RegExp(`^berth: data directory ${dataDir} not found; set BERTH_DATA_DIR `))
    assert.ok(!existsSync(dataDir))
  }
  assert.equal((await runBerth(t, ['admin', 'bootstrap'], { BERTH_DATA_DIR: dataDir })).code, 0)
})

test('a data directory that cannot be used is one line that names it', async (t) => {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'file')
  writeFileSync(file, '')
  const dataDir = join(file, 'data')
  for (const args of [['serve'], ['admin', 'bootstrap']]) {
    const finished = await runBerth(t, args, { BERTH_DATA_DIR: dataDir, BERTH_LISTEN: '127.0.0.1:0' })
    assertRefused(finished, new RegExp(`^berth: the data directory ${dataDir} cannot be used: `))
  }
})

test('a data directory without permission to write is one line that names it', {
  skip: process.getuid?.() !== 0 && 'needs root, to be another user',
}, async (t) => {
  const directory = temporaryDirectory(t)
  chmodSync(directory, 0o755)
  const finished = await runBerth(
    t,
    ['serve'],
    { BERTH_DATA_DIR: directory, BERTH_LISTEN: '127.0.0.1:0' },
    { uid: 65534, cwd: '/' },
  )
  if (/Cannot find|EACCES.*bin\/berth/.test(finished.stderr))
    return t.skip('the program itself cannot be read by another user')
  assertRefused(finished, new RegExp(`^berth: the data directory ${directory} cannot be used: `))
})

test('a file that is not a SQLite database never counts as a first start', async (t) => {
  const dataDir = temporaryDirectory(t)
  writeFileSync(join(dataDir, 'berth.db'), 'damaged')
  assertRefused(
    await runBerth(t, ['migrate'], { BERTH_DATA_DIR: dataDir }),
    /berth\.db is not a SQLite database \(BERTH_DATA_DIR\)$/,
  )
  assert.equal(readFileSync(join(dataDir, 'berth.db'), 'utf8'), 'damaged')
})

test('a database that does not answer is one line without its password', async (t) => {
  const url = `postgres://berth:hunter2secret@127.0.0.1:${await freePort()}/berth`
  const finished = await runBerth(t, ['serve'], {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_DATABASE_URL: url,
  })
  assertExit(3, finished, 'berth: the database is unreachable; check the address in BERTH_DATABASE_URL')
})

test('R41: the first start makes a master key that only its user can read, and nothing else opens the installation', async (t) => {
  const dataDir = temporaryDirectory(t)
  const env = { BERTH_DATA_DIR: dataDir }
  assert.equal((await runBerth(t, ['migrate'], env)).code, 0)
  const file = join(dataDir, 'master.key')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const key = readFileSync(file, 'utf8')
  assert.equal(Buffer.from(key, 'base64').length, 32)
  const other = randomBytes(32).toString('base64')
  const wrong = 'berth: the database was made with another master key; set BERTH_MASTER_KEY to that one'
  assertRefused(await runBerth(t, ['serve'], { ...env, BERTH_MASTER_KEY: other }), wrong)
  assertRefused(await runBerth(t, ['admin', 'token'], { ...env, BERTH_MASTER_KEY: other }), wrong)
  writeFileSync(file, other)
  assertRefused(await runBerth(t, ['serve'], env), wrong)
  writeFileSync(file, 'no key')
  assertRefused(await runBerth(t, ['serve'], env), `berth: ${file} does not hold a master key`)
  rmSync(file)
  assertRefused(
    await runBerth(t, ['serve'], env),
    `berth: the database was created with a master key, but ${file} does not exist; restore it or set BERTH_MASTER_KEY`,
  )
  assert.equal(existsSync(file), false)
  assert.equal((await runBerth(t, ['migrate'], { ...env, BERTH_MASTER_KEY: key.trim() })).code, 0)
})

test('R41: two installations share no secret, and none is in the repository', async (t) => {
  const [one, two] = [temporaryDirectory(t), temporaryDirectory(t)]
  await Promise.all([one, two].map((dataDir) => runBerth(t, ['migrate'], { BERTH_DATA_DIR: dataDir })))
  assert.notEqual(
    readFileSync(join(one, 'master.key'), 'utf8'),
    readFileSync(join(two, 'master.key'), 'utf8'),
  )

  const root = fileURLToPath(new URL('..', import.meta.url))
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\0')
    .filter(
      (name) =>
        name !== '' && !/^gen\/|package-lock\.json$|\.(png|gz)$/.test(name) && existsSync(join(root, name)),
    )
  assert.ok(files.length > 50)
  const secret =
    /BEGIN [A-Z ]*PRIVATE KEY-----\n|eyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}|"d":\s*"[A-Za-z0-9_-]{30,}"|(MASTER_KEY|PASSWORD|SECRET)\s*[:=]\s*["']?[A-Za-z0-9+/_-]{16,}/
  for (const name of files) {
    const found = secret.exec(readFileSync(join(root, name), 'utf8'))
    assert.equal(found, null, `${name}: ${found?.[0].slice(0, 30)}`)
  }
})

test('admin bootstrap prints the first organization, its owner and a token, and is idempotent', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const bootstrap = (...args: string[]) => runBerth(t, ['admin', 'bootstrap', ...args], env)
  const first = await bootstrap('--json')
  assert.equal(first.code, 0, first.stderr)
  assert.equal(first.stdout.split('\n').length, 2)
  const { organization, identity, token, ...rest } = JSON.parse(first.stdout)
  assert.deepEqual(rest, {})
  assert.deepEqual(Object.keys(organization), ['uid', 'name'])
  assert.deepEqual(Object.keys(identity), ['uid', 'name'])
  assert.match(organization.uid, /^[0-9a-f]{40}$/)
  assert.equal(organization.name, 'default')
  assert.equal(decodeJwt(token).sub, identity.uid)

  const named = JSON.parse((await bootstrap('--json', '--name', 'acme')).stdout)
  assert.deepEqual(named.organization, { uid: organization.uid, name: 'acme' })
  assert.deepEqual(named.identity, identity)
  assert.deepEqual(
    JSON.parse((await bootstrap('--json', '--name', 'acme')).stdout).organization,
    named.organization,
  )
  assert.deepEqual(JSON.parse((await bootstrap('--json')).stdout).organization, named.organization)
  assertRefused(
    await bootstrap('--name', 'other'),
    'berth: the first organization is already named acme. To print it, omit --name. To rename it: berth iam organizations update "acme" --name "other". To create another one: berth iam organizations create "other"',
  )
  assertExit(2, await bootstrap('--name', 'Not A Name'), /^berth: --name: .*must match/)
  const text = await bootstrap()
  assert.match(
    text.stdout,
    new RegExp(
      `^organization  ${organization.uid}  acme\nidentity      ${identity.uid}  owner\ntoken         \\S+\n$`,
    ),
  )
})

test('admin token prints a token and no newline, for the running server and without one', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_LISTEN: `127.0.0.1:${await freePort()}` }
  const url = `http://${env.BERTH_LISTEN}`
  const token = async (...args: string[]) => {
    const finished = await runBerth(t, ['admin', 'token', ...args], env)
    assert.equal(finished.code, 0, finished.stderr)
    assert.match(finished.stdout, /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/)
    assert.equal(finished.stderr, '')
    return finished.stdout
  }
  const before = await token()
  assert.equal(decodeJwt(before).aud, url)
  const server = await serveBerth(t, env)
  const list = async (bearer: string) =>
    (await call('GET', `${url}/iam/v2beta1/groups`, { token: bearer })).status
  assert.equal(await list(before), 200)
  assert.equal(await list(await token()), 200)

  const [organization] = (await call('GET', `${url}/iam/v2beta1/groups`, { token: before })).body.groups
  const identity = await createIdentity({ url, token: before }, organization.uid)
  const own = await token('--identity', identity)
  assert.equal(decodeJwt(own).sub, identity)
  assert.equal(await list(own), 200)
  const other = await token('--identity', identity, '--audience', 'registry.example')
  assert.equal(decodeJwt(other).aud, 'registry.example')
  assert.equal(await list(other), 401)
  const unknown = `${organization.uid}/${'0'.repeat(16)}`
  assertRefused(
    await runBerth(t, ['admin', 'token', '--identity', unknown], env),
    `berth: identity ${unknown} not found`,
  )
  assertExit(
    2,
    await runBerth(t, ['admin', 'token', '--identity', 'me'], env),
    /^berth: --identity must be a uid/,
  )

  server.child.kill('SIGTERM')
  await server.finished
  assert.equal(decodeJwt(await token()).aud, url)
})

test('admin organization shows and changes the settings of an organization, immediately for the running server', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_RESOURCE_LIMITS: 'repos=9' }
  const { url } = await serveBerth(t, env)
  const run = (...args: string[]) => runBerth(t, ['admin', 'organization', ...args], env)
  const { organization, token } = JSON.parse(
    (await runBerth(t, ['admin', 'bootstrap', '--name', 'acme', '--json'], env)).stdout,
  )
  const { uid } = organization
  const shown = await run('acme')
  assert.deepEqual(
    [shown.code, shown.stdout],
    [
      0,
      `organization  ${uid}  acme\nstatus        ready\nlimits        repos=9\nusage         role_bindings=1\n`,
    ],
  )
  const member = await createIdentity({ url, token }, uid)
  await bindRole({ url, token }, uid, member, 'viewer')
  const { stdout: theirs } = await runBerth(t, ['admin', 'token', '--identity', member], env)
  const get = async () => (await call('GET', `${url}/iam/v2beta1/groups/${uid}`, { token: theirs })).status
  assert.equal(await get(), 200)

  const changed = await run(
    uid,
    '--status',
    'suspended',
    '--limit',
    'identities=2',
    '--limit',
    'roles=0',
    '--json',
  )
  const list = await runBerth(
    t,
    ['admin', 'organizations', 'list', '--filter', 'status=suspended', '--json'],
    env,
  )
  const [listed] = JSON.parse(list.stdout).items
  assert.deepEqual([listed.uid, listed.name, listed.usage.identities], [uid, 'acme', 1])
  const { usage, ...rest } = JSON.parse(changed.stdout)
  assert.deepEqual([usage.identities, usage.repos, usage.manifests, usage.storage_mib], [1, 0, 0, 0])
  assert.deepEqual(rest, {
    uid,
    name: 'acme',
    status: 'suspended',
    resourceLimits: { identities: 2, repos: 9, roles: 0 },
  })
  assert.equal(await get(), 403)
  const more = () =>
    call('POST', `${url}/iam/v2beta1/identities/${uid}`, {
      token,
      body: { name: 'more', claimMatch: { issuer: 'https://ci.example.com', subject: 'x' } },
    })
  assert.deepEqual([(await more()).status, (await more()).status], [200, 429])
  const opened = await run('acme', '--status', 'ready', '--limit', 'identities=none')
  assert.match(opened.stdout, /^status {8}ready\nlimits {8}repos=9 roles=0$/m)
  assert.deepEqual([await get(), (await more()).status], [200, 200])

  assertRefused(await run('nobody'), 'berth: organization nobody does not exist')
  for (const limit of ['repos', 'repos=-1', 'repos=x', 'ships=1', 'repos=2147483648'])
    assertExit(
      2,
      await run('acme', '--limit', limit),
      /^berth: --limit: ".*" must be KIND=NUMBER or KIND=none/,
    )
  assert.equal((await run('acme', '--status', 'closed')).code, 2)
  assert.equal((await run()).code, 2)
})

test('after the first organization was deleted its owner still gets tokens, and bootstrap says why it has nothing to print', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const server = await serveBerth(t, env)
  const { organization, token } = JSON.parse(
    (await runBerth(t, ['admin', 'bootstrap', '--json'], env)).stdout,
  )
  const url = `${server.url}/iam/v2beta1/groups/${organization.uid}`
  assert.equal((await call('DELETE', url, { token })).status, 200)
  for (const args of [[], ['--name', 'acme']]) {
    const finished = await runBerth(t, ['admin', 'bootstrap', ...args], env)
    assertRefused(finished, 'berth: the first organization was deleted; make another one through the API')
  }
  const again = await runBerth(t, ['admin', 'token'], env)
  const made = await call('POST', `${server.url}/iam/v2beta1/groups`, {
    token: again.stdout,
    body: { name: 'acme' },
  })
  assert.equal(made.status, 200, made.text)
})

test('a token of the command line fits the address that the server was last started with', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const server = await serveBerth(t, env)
  const { stdout } = await runBerth(t, ['admin', 'token'], env)
  assert.equal((await call('GET', `${server.url}/iam/v2beta1/groups`, { token: stdout })).status, 200)
})

for (const engine of ['sqlite', 'postgres'] as const) {
  const skip = engine === 'postgres' ? withoutPostgres : false
  test(`migrate on ${engine} says what it did, once`, { skip }, async (t) => {
    const env = {
      BERTH_DATA_DIR: temporaryDirectory(t),
      ...(engine === 'postgres' ? { BERTH_DATABASE_URL: (await startPostgres(t)).url } : {}),
    }
    const migrate = async (...args: string[]) => (await runBerth(t, ['migrate', ...args], env)).stdout
    assert.match(await migrate('--json'), /^\{"migrations":\["0001-init"/)
    assert.equal(await migrate(), 'the schema is up to date\n')
    assert.equal(await migrate('--json'), '{"migrations":[]}\n')
  })
}

test('SIGTERM lets a running request finish, then ends with code 0', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const server = await serveBerth(t, env)
  const { stdout: token } = await runBerth(t, ['admin', 'token'], env)
  const body = JSON.stringify({ name: 'finished' })
  const connection = await rawConnection(t as never, Number(new URL(server.url).port))
  connection.socket.write(
    `POST /iam/v2beta1/groups HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
  )
  // The request runs: it reads its body.
  await connection.until('HTTP/1.1 100 Continue')
  connection.socket.write(body.slice(0, 5))
  server.child.kill('SIGTERM')
  // Nothing new is accepted.
  await eventually(() =>
    call('GET', `${server.url}/healthz`).then(
      () => false,
      () => true,
    ),
  )
  assert.equal(server.child.exitCode, null)
  connection.socket.write(body.slice(5))
  assert.match(await connection.received, /\r\n\r\nHTTP\/1\.1 200 [\s\S]*"name":"finished"/)
  const { code, signal } = await server.finished
  assert.deepEqual([code, signal], [0, null])
})

test('an older Node.js starts the included one, which stops on a signal', async (t) => {
  const older =
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })"
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(older)}`]
  const env = {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_LISTEN: '127.0.0.1:0',
    BERTH_DRAIN_DELAY: '0s',
  }
  const { child, output, finished } = spawnBerth(t, ['serve'], env, { nodeArgs })
  const [, address] = await eventually(() => /^ready (\S+)\n/.exec(output().stdout))
  child.kill('SIGTERM')
  const { code, stderr } = await finished
  assert.equal(code, 0, stderr)
  await assert.rejects(fetch(`${address}/healthz`))
  const { code: usage } = await runBerth(t, ['no-such-command'], {}, { nodeArgs })
  assert.equal(usage, 2)
})

test('wrong usage is exit code 2 and a line, help and version are exit code 0', async (t) => {
  for (const args of [
    ['fly'],
    ['serve', '--fast'],
    ['admin', 'fly'],
    ['admin', 'token', '--identity'],
    ['serve', 'extra'],
  ]) {
    const { code, stdout, stderr } = await runBerth(t, args)
    assert.equal(code, 2, args.join(' '))
    assert.equal(stdout, '')
    assert.match(stderr, /^berth: /)
  }
  const suggested = await runBerth(t, ['help', 'iam', 'rols'])
  assert.equal(suggested.code, 2)
  assert.match(suggested.stderr, /unknown command 'rols'\n\(Did you mean one of role, roles\?\)/)
  const nested = await runBerth(t, ['help', 'iam', 'roles', 'list'])
  assert.deepEqual([nested.code, nested.stderr], [0, ''])
  assert.equal(nested.stdout, (await runBerth(t, ['iam', 'roles', 'list', '--help'])).stdout)
  const version = await runBerth(t, ['--version'])
  assert.deepEqual([version.code, version.stderr], [0, ''])
  assert.match(version.stdout, /^[0-9]+\.[0-9]+\.[0-9]+\n$/)
})

/** The modules of the server package, as bin/berth.js passes them in. */
const serverPackage: ServerPackage = {
  operatorCommands: () => import('@berth/server/commands/commands.ts'),
  fileFetcher: () => import('@berth/server/advisories/feeds/fetcher.ts'),
}

test('a command of the server package reports that the package is not installed', async () => {
  const message = /requires the package berth, which contains the server: install berth-x\.y\.z\.tgz/
  const missing = () =>
    Promise.reject(new Error("Cannot find package '@berth/server' imported from berth.js"))
  await assert.rejects(loadServerModule(missing), message)
  await assert.rejects(loadServerModule(undefined), message)
  await assert.rejects(createProgram(['serve'], undefined), message)
  await createProgram(['iam', 'roles', 'list'], undefined)
})

test('commands are suggested without the server package, and where it needs another Node', async () => {
  const otherNode: ServerPackage = {
    ...serverPackage,
    needsRestart: true,
    operatorCommands: () => Promise.reject(new Error('starts the program again')),
  }
  for (const server of [undefined, otherNode]) {
    const { commands } = await loadAllCommands(server)
    const subcommandsOf = (group: string) =>
      commands.find((one) => one.name() === group)?.commands.map((one) => one.name())
    assert.ok(subcommandsOf('auth')?.includes('login'))
    assert.deepEqual(subcommandsOf('admin'), [])
  }
})

/** Runs a command. Returns the URLs of the modules that it loaded. */
async function modulesLoadedBy(t: Cleanup, args: readonly string[]): Promise<string[]> {
  const hook = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) { process._rawDebug('load ' + url); return next(url, context) } })`
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`]
  const { stderr } = await runBerth(t, args, {}, { nodeArgs })
  const loaded = stderr.split('\n').filter((line) => line.startsWith('load '))
  assert.ok(
    loaded.some((line) => line.endsWith('/cli/src/commands.ts')),
    stderr,
  )
  return loaded
}

test('the root help loads no implementation of a command', async (t) => {
  for (const args of [['--help'], ['help'], [], ['--profile', 'iam', '--help']]) {
    const loaded = await modulesLoadedBy(t, args)
    const implementations = loaded.filter((line) => /\/packages\/server\/|\/cli\/src\/commands\//.test(line))
    assert.deepEqual(implementations, [], args.join(' '))
  }
})

test('help loads no messages of the API, which would double its time', async (t) => {
  for (const name of ['auth', 'iam', 'images', 'advisories', 'search', 'policies', 'audit', 'config']) {
    const loaded = await modulesLoadedBy(t, [name, '--help'])
    assert.deepEqual(
      loaded.filter((line) => /_pb\.js$|\/@bufbuild\//.test(line)),
      [],
      name,
    )
  }
})

test('help is as reviewed, for every command', async (t) => {
  /** The page of a command, and those of the commands below it. */
  const pagesOf = (command: Command, words: readonly string[]): string[] => {
    let page = ''
    command.configureOutput({
      writeOut: (text) => {
        page += text
      },
      getOutHelpWidth: () => 80,
    })
    command.outputHelp()
    const isGroup = command.commands.length > 0
    assert.ok(isGroup || /^Examples:\n {2}\S/m.test(page), `${words.join(' ')} has no example`)
    assert.equal(words.length > 0, /^Global flags/m.test(page), `${words.join(' ')} names the global flags`)
    // The commands of the operator print their own reports.
    if (words.at(-1) === 'list' && words[0] !== 'admin')
      for (const flag of ['--sort', '--filter', '--limit'])
        assert.ok(page.includes(`  ${flag} `), `${words.join(' ')} has no ${flag}`)
    return [
      `$ berth ${[...words, '--help'].join(' ')}\n${page}`,
      ...command.commands.flatMap((inner) => pagesOf(inner, [...words, inner.name()])),
    ]
  }
  const pages = pagesOf(await loadAllCommands(serverPackage), [])
  assertGolden('cli-help.txt', pages.join('\n'))
  // The pages are what the program itself prints, which loads the commands of the first word alone.
  for (const words of [[], ['iam', 'folders', 'create'], ['images'], ['admin', 'accounts']]) {
    const { code, stdout, stderr } = await runBerth(t, [...words, '--help'])
    assert.deepEqual([code, stderr], [0, ''], words.join(' '))
    assert.ok(pages.includes(`$ berth ${[...words, '--help'].join(' ')}\n${stdout}`), stdout)
  }
})
