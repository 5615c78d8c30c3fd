import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  globSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '@berth/contract/gen/grpc/reflection/v1/reflection_pb.js'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { Client, credentials } from '@grpc/grpc-js'
import type { PackageDirectory } from '../scripts/packages/definitions.ts'
import { onEveryDatabase } from './support/api/api-fixture.ts'
import { call } from './support/api/rest.ts'
import { startBrowser, withoutBrowser } from './support/browser/chromium.ts'
import { eventually } from './support/eventually.ts'
import { EXAMPLE_OUTPUT, installExample, typeCheck } from './support/packages/client-example.ts'
import { packedPackages } from './support/packages/packed-packages.ts'
import { serveBerth, spawnBerth, temporaryDirectory } from './support/server/process.ts'

/** The published packages, from their tarballs. test/long/packages.test.ts installs them with their dependencies. */

const run = promisify(execFile)

/** Packages of the server that would make the command line large. */
const serverPackages =
  /^(kysely|pg|better-sqlite3|hono|pino|prom-client|swagger-ui-dist|@aws-sdk|@opentelemetry)/

/** Longer than a server waits for a second without requests. */
const IDLE_MS = 2500

/** Returns whether the server describes a symbol by reflection. */
async function describesSymbol(url: string, symbol: string): Promise<boolean> {
  const client = new Client(new URL(url).host, credentials.createInsecure())
  try {
    const reflection = client.makeBidiStreamRequest(
      '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
      (request: ServerReflectionRequest) => Buffer.from(toBinary(ServerReflectionRequestSchema, request)),
      (bytes) => fromBinary(ServerReflectionResponseSchema, bytes),
    )
    const messageRequest = { case: 'fileContainingSymbol', value: symbol } as const
    reflection.write(create(ServerReflectionRequestSchema, { messageRequest }))
    const [reply] = (await once(reflection, 'data')) as [ServerReflectionResponse]
    reflection.end()
    return reply.messageResponse.case === 'fileDescriptorResponse'
  } finally {
    client.close()
  }
}

describe('the published packages', () => {
  const { directory, tarball } = packedPackages()

  /** Unpacks a package beside the dependencies of this clone. Returns its program. */
  async function unpack(name: PackageDirectory): Promise<string> {
    const place = join(directory, name)
    mkdirSync(place)
    await run('tar', ['-xzf', tarball(name), '-C', place])
    symlinkSync(resolve('node_modules'), join(place, 'node_modules'))
    return join(place, 'package/bin/berth.js')
  }

  test('the server starts from its package, and serves pages, assets and the API reference', async (t) => {
    const as = await unpack('berth')
    const data = { BERTH_DATA_DIR: temporaryDirectory(t) }
    const { url } = await serveBerth(t, data, [], { as })
    for (const path of [
      '/readyz',
      '/sign-in',
      '/docs',
      '/openapi.json',
      '/.well-known/openid-configuration',
    ]) {
      const { status } = await fetch(url + path)
      assert.equal(status, 200, path)
    }
    const page = await (await fetch(`${url}/docs`)).text()
    const assets = [...page.matchAll(/(?:src|href)="(\/[^"#]+)"/g)].map(([, path = '']) => path)
    assert.ok(assets.length > 0)
    for (const path of assets) assert.equal((await fetch(url + path)).status, 200, path)
    const console = join(directory, 'berth/package/packages/console/dist/static')
    const html = readFileSync(join(console, 'console.html'), 'utf8')
    const files = [...html.matchAll(/(?:src|href)="(\/console-assets\/[^"]+)"/g)].map(([, path = '']) => path)
    assert.ok(files.length > 2)
    for (const path of files) assert.equal((await fetch(url + path)).status, 200, path)
    // What is loaded, or created from the schema, when it is needed.
    assert.ok(await describesSymbol(url, 'google.protobuf.MethodOptions'))
    const admin = (...args: string[]) => spawnBerth(t, ['admin', ...args], data, { as }).finished
    await admin('bootstrap', '--name', 'packaged')
    const token = (await admin('token')).stdout.trim()
    const expression = { expression: 'image.tag == "v1"', type: 'EXPRESSION_TYPE_CEL' }
    const validated = await call('POST', `${url}/policies/v1/policies/validate`, { token, body: expression })
    assert.deepEqual(validated.body, { valid: true, errors: [] }, validated.text)
    // These load other files of the package than a server alone.
    const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_WORKERS: '2' }
    const workers = await serveBerth(t, env, [], { as })
    assert.equal((await fetch(`${workers.url}/readyz`)).status, 200)
    const { code } = await spawnBerth(t, ['--log-level', 'error', 'serve', '--help'], {}, { as }).finished
    assert.equal(code, 0)
    const hook = join(directory, 'files.cjs')
    writeFileSync(
      hook,
      "process.on('exit', () => process.stderr.write(Object.keys(require.cache).join('\\n')))",
    )
    const { stderr } = await run(process.execPath, ['--require', hook, as, 'serve', '--help'])
    const loaded = stderr.split('\n').flatMap((file) => /\/package\/(lib\/.*)$/.exec(file)?.[1] ?? [])
    const ofServer = loaded.filter((file) => /^lib\/serve\/(server|shared|libraries)-/.test(file))
    assert.equal(ofServer.length, 3, loaded.join())
    assert.ok(loaded.length < 10, loaded.join())
  })

  test('a start stores the code of its files for the next one, which ignores damaged files', async (t) => {
    const as = join(directory, 'berth/package/bin/berth.js')
    const ownCache = temporaryDirectory(t)
    const stored = (cache = ownCache) => globSync(join(cache, '*', '*.code')).sort()
    /** Starts and stops a server. Returns the stored code. */
    const start = async ({
      cache = ownCache,
      whileRunning,
      env = {},
    }: {
      readonly cache?: string
      readonly whileRunning?: () => unknown
      readonly env?: Readonly<Record<string, string>>
    } = {}) => {
      const settings = {
        BERTH_DATA_DIR: temporaryDirectory(t),
        BERTH_DRAIN_DELAY: '0s',
        NODE_COMPILE_CACHE: cache,
        ...env,
      }
      const { url, child, finished } = await serveBerth(t, settings, [], { as })
      assert.equal((await fetch(`${url}/readyz`)).status, 200)
      await whileRunning?.()
      child.kill('SIGTERM')
      const { code, stderr } = await finished
      assert.equal(code, 0)
      // Node warns of experimental features.
      assert.doesNotMatch(stderr, /Warning/)
      return stored(cache).map((file) => ({ file, ...statSync(file) }))
    }
    // This compiles less than a start.
    await run(process.execPath, [as, 'serve', '--help'], {
      env: { ...process.env, NODE_COMPILE_CACHE: ownCache },
    })
    assert.deepEqual(stored(), [])
    // A server that is killed later has stored it.
    const first = await start({
      whileRunning: () =>
        eventually(
          () => stored(),
          (files) => files.length === 3,
        ),
    })
    assert.deepEqual(
      first.map(({ file }) => basename(file).split('-')[0]),
      ['libraries', 'server', 'shared'],
    )
    for (const { mode } of first) assert.equal(mode & 0o777, 0o600)
    const second = await start()
    assert.deepEqual(
      second.map(({ ino }) => ino),
      first.map(({ ino }) => ino),
    )
    // The supervisor loads the same files, but compiles less of them than workers.
    const envFile = join(temporaryDirectory(t), 'berth.env')
    writeFileSync(envFile, 'BERTH_WORKERS=2\n')
    const ofWorkers = await start({
      cache: temporaryDirectory(t),
      env: { BERTH_ENV_FILE: envFile },
      whileRunning: () => pause(IDLE_MS),
    })
    for (const [index, { size }] of ofWorkers.entries())
      assert.ok(size > 0.9 * (first[index]?.size ?? Number.NaN), `${size} ${first[index]?.size}`)
    assert.equal(ofWorkers.length, 3)
    const [libraries = '', server = '', shared = ''] = stored()
    const damaged = readFileSync(libraries)
    damaged[damaged.length >> 1]! ^= 1
    writeFileSync(libraries, damaged)
    truncateSync(server, 2)
    chmodSync(shared, 0o666)
    for (const [index, { file, ino, mode, size }] of (await start()).entries()) {
      assert.notEqual(ino, first[index]?.ino, file)
      assert.equal(mode & 0o777, 0o600, file)
      assert.ok(size > 100_000, file)
    }
  })

  test('the command line has no dependency of the server, and names the package that a command needs', async (t) => {
    const program = await unpack('cli')
    const manifest = JSON.parse(readFileSync(join(directory, 'cli/package/package.json'), 'utf8'))
    assert.deepEqual(
      Object.keys(manifest.dependencies).filter((name) => serverPackages.test(name)),
      [],
    )
    assert.deepEqual(globSync(join(directory, 'cli/package/packages/server')), [])
    const finish = (...args: string[]) => spawnBerth(t, args, {}, { as: program }).finished
    assert.deepEqual(await finish('--version'), {
      code: 0,
      signal: null,
      stdout: `${manifest.version}\n`,
      stderr: '',
    })
    for (const args of [['serve'], ['migrate'], ['admin', 'token']]) {
      const { code, stderr } = await finish(...args)
      assert.equal(code, 1)
      assert.match(stderr, /requires the package berth.*install berth-x\.y\.z\.tgz/)
    }
    const unknown = await finish('login')
    assert.equal(unknown.stderr, "berth: unknown command 'login'\n(Did you mean berth auth login?)\n")
    assert.equal(unknown.code, 2)
  })

  test('packages contain no TypeScript sources, tests or references to workspaces', async () => {
    for (const name of ['berth', 'cli', 'client'] as const) {
      const { stdout } = await run('tar', ['-tzf', tarball(name)])
      const files = stdout.trim().split('\n')
      assert.deepEqual(
        files.filter((file) => /\.test\.|(?<!\.d)\.ts$/.test(file)),
        [],
      )
      for (const file of ['README.md', 'LICENSE', 'package.json'])
        assert.ok(files.includes(`package/${file}`))
    }
    const compiled = globSync(join(directory, 'dist/{berth,cli,client}/**/*.{js,cjs,d.ts}'))
    assert.ok(compiled.length > 0)
    const unlinked = /(from|import\(|require\(|new URL\()\s*['"](@berth\/|[^'"]+(?<!\.d)\.ts['"])/
    assert.deepEqual(
      compiled.filter((file) => unlinked.test(readFileSync(file, 'utf8'))),
      [],
    )
  })

  test('the types of the client hold in a strict browser project, which knows no type of Node', async (t) => {
    const project = temporaryDirectory(t)
    await installExample(project, tarball('client'), 'http://127.0.0.1:8080')
    writeFileSync(
      join(project, 'example.ts'),
      `import { type BerthClient, createBerthClient, type Group } from '@berth/client'
const client: BerthClient = createBerthClient({ baseUrl: location.origin, token: () => 'token' })
export const names: readonly string[] = (await client.groups.list()).groups.map((group: Group) => group.name)
// @ts-expect-error: groups have no such field
export const missing = (await client.groups.get('uid')).nothing
`,
    )
    await typeCheck(project, { types: [] })
    await typeCheck(project, { types: [], module: 'esnext', moduleResolution: 'bundler' })
  })

  onEveryDatabase(
    'the example in the README of the client',
    (cast) => {
      test('runs in Node from the tarball', async (t) => {
        const { uid, owner } = await cast().organization()
        const module = await installExample(temporaryDirectory(t), tarball('client'), cast().berth.url)
        const env = { PATH: process.env['PATH'], ORG: uid, TOKEN: owner.api.token }
        assert.deepEqual(await run(process.execPath, [module], { env }), {
          stdout: EXAMPLE_OUTPUT,
          stderr: '',
        })
      })

      test('runs in Chromium from the tarball', { skip: withoutBrowser }, async (t) => {
        const { uid, owner } = await cast().organization()
        const { url } = cast().berth
        const project = temporaryDirectory(t)
        await installExample(project, tarball('client'), url)
        const browser = await startBrowser()
        t.after(() => browser.close())
        const page = await browser.newPage()
        const env = JSON.stringify({ ORG: uid, TOKEN: owner.api.token })
        await page.route(`${url}/project/**`, (route) =>
          route.fulfill({
            path: join(project, new URL(route.request().url()).pathname.slice('/project/'.length)),
          }),
        )
        writeFileSync(
          join(project, 'index.html'),
          `<script>process = { env: ${env} }</script>
<script type="importmap">{ "imports": { "@berth/client": "/project/node_modules/@berth/client/berth.js" } }</script>
<script type="module" src="/project/example.js"></script>`,
        )
        const lines: string[] = []
        page.on('pageerror', (error) => lines.push(error.message))
        page.on('console', (message) => message.type() === 'log' && lines.push(message.text()))
        await page.goto(`${url}/project/index.html`)
        while (lines.length < 2) await page.waitForEvent('console')
        assert.deepEqual(lines, ['[team-a] 1', '400 INVALID_ARGUMENT name'])
      })
    },
    { only: 'sqlite' },
  )
})
