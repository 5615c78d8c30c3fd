import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { packPackages } from '../../scripts/packages/pack.ts'
import { createInstallations } from '../support/database/backups.ts'
import { databases } from '../support/database/databases.ts'
import { EXAMPLE_OUTPUT, installExample } from '../support/packages/client-example.ts'
import { packedPackages } from '../support/packages/packed-packages.ts'
import { layoutWithImage } from '../support/registry/image-layout.ts'
import { serveBerth, spawnBerth, temporaryDirectory } from '../support/server/process.ts'

/**
 * The published packages, installed from their tarballs into empty folders with the registry of npm, with each supported version of Node. As
 * root on Linux, programs run where the folder of this repository is empty.
 */

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const majors = [20, 22, 24]
const engines = databases.flatMap(({ name }) => (name === 'pglite' || name === 'citus' ? [] : [name]))
/** How many times as long as `node -e 0` a command of the command line may take to start, as a median of pairs; measured are 3 to 5. */
const START_RATIO_MAX = 6
const START_RUNS = 21

/** A command that hides this repository from the program that it runs; nothing where that needs rights that are missing. */
const hiding = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none "$0" && exec "$@"', root]
const under = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0 ? hiding : []

describe('installed packages', () => {
  const { directory, tarball } = packedPackages()

  /** Installs a version of Node. Returns its program. */
  async function installNode(major: number): Promise<string> {
    const name = `node-${process.platform}-${process.arch}`
    const place = join(directory, `node-${major}`)
    if (!existsSync(place)) await npmInstall(place, `${name}@${major}`, dirname(process.execPath))
    return join(place, 'node_modules', name, 'bin/node')
  }

  /** Installs a package in an empty folder, with the proxy and certificates of this machine. Returns what npm printed. */
  async function npmInstall(place: string, what: string, nodeDirectory: string, ...options: string[]) {
    mkdirSync(place, { recursive: true })
    const env = { ...process.env, PATH: `${nodeDirectory}:/usr/local/bin:/usr/bin:/bin` }
    const args = ['install', '--prefix', place, '--no-audit', '--no-fund', ...options, what]
    const { stdout, stderr } = await run('npm', args, { cwd: place, env })
    return stdout + stderr
  }

  async function sizeOf(place: string): Promise<number> {
    const { stdout } = await run('du', ['-sm', join(place, 'node_modules')])
    return Number.parseInt(stdout, 10)
  }

  test('are equal bytes when they are built again', () => {
    const again = packPackages(join(directory, 'again'), join(directory, 'dist-again'))
    for (const name of ['berth', 'cli', 'client'] as const)
      assert.ok(readFileSync(again[name]).equals(readFileSync(tarball(name))), name)
  })

  for (const major of majors)
    test(`berth with Node ${major}: server, credential helper, folders and a pushed image`, async (t) => {
      const node = await installNode(major)
      const place = join(directory, `berth-${major}`)
      const printed = await npmInstall(place, tarball('berth'), dirname(node))
      t.diagnostic(
        `Node ${major}: ${await sizeOf(place)} MB, ${printed.match(/^.*EBADENGINE.*package:/gm)?.length ?? 0} EBADENGINE`,
      )
      const installations = await createInstallations(t, engines)
      for (const engine of engines)
        await useInstalled(
          t,
          { node, as: join(place, 'node_modules/.bin/berth') },
          await installations(engine),
        )
    })

  test('berth without optional dependencies needs Node 24 for the server alone', async (t) => {
    const node = await installNode(20)
    const place = join(directory, 'berth-small')
    await npmInstall(place, tarball('berth'), dirname(node), '--omit=optional')
    t.diagnostic(`${await sizeOf(place)} MB`)
    const as = join(place, 'node_modules/.bin/berth')
    const serve = await spawnBerth(t, ['serve'], {}, { as, node, under }).finished
    assert.equal(serve.code, 1)
    assert.match(serve.stderr, /requires Node.js 24 or newer, this is 20\..*optional dependencies/)
    const own = { HOME: temporaryDirectory(t) }
    const profiles = await spawnBerth(t, ['config', 'profiles'], own, { as, node, under }).finished
    assert.equal(profiles.code, 0, profiles.stderr)
    const unknown = await spawnBerth(t, ['login'], own, { as, node, under }).finished
    assert.equal(unknown.code, 2)
    assert.equal(unknown.stderr, "berth: unknown command 'login'\n(Did you mean berth auth login?)\n")
    const { url } = await serveBerth(t, { BERTH_DATA_DIR: temporaryDirectory(t) }, [], {
      ...{ as, node: await installNode(24), under },
    })
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
  })

  test('a killed program stops the server that it started with another Node', async (t) => {
    const node = await installNode(20)
    const as = join(directory, 'berth-20/node_modules/.bin/berth')
    const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
    const { child, url } = await serveBerth(t, env, [], { as, node })
    child.kill('SIGKILL')
    await once(child, 'exit')
    const isReachable = () =>
      fetch(`${url}/livez`).then(
        () => true,
        () => false,
      )
    while (await isReachable()) await new Promise((resume) => setTimeout(resume, 50))
    // The lock of the database is free.
    await serveBerth(t, env, [], { as, node })
  })

  for (const major of majors)
    test(`@berth/cli with Node ${major}: starts in time, without the server`, async (t) => {
      const node = await installNode(major)
      const place = join(directory, `cli-${major}`)
      const printed = await npmInstall(place, tarball('cli'), dirname(node))
      assert.doesNotMatch(printed, /EBADENGINE/)
      for (const name of ['kysely', 'pg', 'better-sqlite3', '@aws-sdk', '@opentelemetry', 'hono'])
        assert.ok(!existsSync(join(place, 'node_modules', name)), name)
      t.diagnostic(`${await sizeOf(place)} MB`)
      const program = join(place, 'node_modules/.bin/berth')
      const env = { HOME: temporaryDirectory(t), PATH: process.env['PATH'] }
      for (const args of [
        ['--help'],
        ['auth', 'status'],
        ['iam', 'folders', 'list', '--help'],
        ['images', '--help'],
      ]) {
        const timeOf = (...given: string[]) => {
          const startMs = performance.now()
          spawnSync(node, given, { env })
          return performance.now() - startMs
        }
        // In turns, so that other load on the machine slows both down.
        const times = Array.from({ length: START_RUNS }, () => ({
          berth: timeOf(program, ...args),
          node: timeOf('-e', '0'),
        }))
        const medianOf = (values: readonly number[]) => values.toSorted((a, b) => a - b)[START_RUNS >> 1]!
        const ratio = medianOf(times.map((one) => one.berth / one.node))
        const [berthMs, nodeMs] = [
          medianOf(times.map((one) => one.berth)),
          medianOf(times.map((one) => one.node)),
        ]
        const measured = `Node ${major}, berth ${args.join(' ')}: median ${berthMs.toFixed(0)} ms, node -e 0: ${nodeMs.toFixed(0)} ms, ${ratio.toFixed(1)} times`
        assert.ok(ratio <= START_RATIO_MAX, measured)
      }
    })

  test('@berth/client with each Node: the example of its README', async (t) => {
    const as = join(directory, 'berth-20/node_modules/.bin/berth')
    for (const major of majors) {
      const node = await installNode(major)
      const own = { BERTH_DATA_DIR: temporaryDirectory(t) }
      const { url } = await serveBerth(t, own, [], { as, node })
      const admin = async (...args: string[]) =>
        (await spawnBerth(t, ['admin', ...args], { ...own, BERTH_BASE_URL: url }, { as, node }).finished)
          .stdout
      const { organization } = JSON.parse(await admin('bootstrap', '--name', 'acme', '--json'))
      const token = (await admin('token')).trim()
      const module = await installExample(temporaryDirectory(t), tarball('client'), url)
      const result = await run(node, [module], { env: { ORG: organization.uid, TOKEN: token } })
      assert.deepEqual(result, { stdout: EXAMPLE_OUTPUT, stderr: '' })
    }
  })
})

interface Installed {
  readonly node: string
  readonly as: string
}

/** Uses an installation as its first user does: the server, an organization, folders, credentials and an image. */
async function useInstalled(t: TestContext, { node, as }: Installed, own: Readonly<Record<string, string>>) {
  const cwd = temporaryDirectory(t)
  const options = { as, node, under, cwd }
  const server = await serveBerth(t, own, [], options)
  const host = new URL(server.url).host
  const finish = async (args: string[], env: Readonly<Record<string, string>>, more: object = {}) => {
    const { code, stdout, stderr } = await spawnBerth(t, args, { HOME: cwd, ...env }, { ...options, ...more })
      .finished
    assert.equal(code, 0, `berth ${args.join(' ')}: ${stderr}`)
    return stdout.trim()
  }
  const operator = { ...own, BERTH_BASE_URL: server.url }
  await finish(['admin', 'bootstrap', '--name', 'acme', '--json'], operator)
  const user = { BERTH_API: server.url, BERTH_TOKEN: await finish(['admin', 'token'], operator) }

  await finish(['iam', 'folders', 'create', 'team', '--parent', 'acme'], user)
  assert.match(await finish(['iam', 'folders', 'list'], user), /team/)

  const helper = join(dirname(as), 'docker-credential-berth')
  const credentials = JSON.parse(await finish(['get'], user, { as: helper, input: host }))
  assert.equal(credentials.ServerURL, host)
  assert.ok(credentials.Secret.length > 0)

  const { directory, digest } = await layoutWithImage(join(cwd, 'layout'), 'latest')
  await finish(['images', 'copy', `oci:${directory}:latest`, `${host}/acme/app:v1`], user)
  assert.match(await finish(['images', 'inspect', `${host}/acme/app:v1`, '--json'], user), new RegExp(digest))
  await finish(['images', 'copy', `${host}/acme/app:v1`, `oci:${join(cwd, 'copy')}:v1`], user)
  const index = JSON.parse(readFileSync(join(cwd, 'copy/index.json'), 'utf8'))
  assert.equal(index.manifests[0].digest, digest)
  assert.ok(statSync(join(cwd, 'copy/blobs/sha256')).isDirectory())

  server.child.kill('SIGTERM')
  const { code, stderr } = await server.finished
  assert.equal(code, 0, stderr)
}
