import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { cacheDirectory, configDirectory } from '@berth/cli/config/user-directories.ts'
import { decodeJwt } from 'jose'
import { type CommandLine, commandLine, signedInCommandLine } from './support/cli/command-line.ts'
import { anyDatabase } from './support/database/databases.ts'
import { cleanups, runBerth, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { unsignedJws } from './support/tokens/issuer.ts'

/** `berth auth token`: kept, renewed, shared between programs, and printed by little. */

const fileOf = ({ home }: CommandLine, url: string, kind: string) =>
  join(home, '.cache', 'berth', url.replaceAll('/', '-'), kind)

function keep(cli: CommandLine, url: string, kind: string, text: string): void {
  const file = fileOf(cli, url, kind)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text)
}

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds
const accessToken = (seconds: number) => unsignedJws({ alg: 'ES256' }, { exp: inSeconds(seconds), sub: 'x' })
/** In the shape of one of the server. */
const refreshToken = (seconds: number) =>
  Buffer.from(JSON.stringify({ exp: inSeconds(seconds), secret: 'x' })).toString('base64')

/** A token service that always answers the same. */
async function answering(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

for (const database of anyDatabase)
  describe(`tokens of one sign-in in many programs on ${database.name}`, () => {
    const cleanup = cleanups()
    let berth: TestBerth
    before(async () => {
      berth = await startTestBerth(database)
    })
    after(async () => {
      await cleanup.run()
      await berth.stop()
    })
    const signedIn = () => signedInCommandLine(cleanup, berth)

    test('R13: concurrent renewals use the refresh token once, and every program gets the token', async () => {
      const cli = await signedIn()
      const registry = new URL(berth.url).host
      for (let round = 0; round < 2; round++) {
        rmSync(fileOf(cli, berth.url, 'oidc-token'))
        const before = readFileSync(fileOf(cli, berth.url, 'refresh-token'), 'utf8')
        const printed = await Promise.all(
          Array.from({ length: 6 }, (_, at) =>
            cli.ok(['auth', 'token', ...(at === 5 && round === 0 ? ['--audience', registry] : [])]),
          ),
        )
        const forApi = printed.filter((token) => [decodeJwt(token).aud].flat().includes(berth.url))
        assert.equal(new Set(forApi).size, 1)
        assert.equal(forApi.length, round === 0 ? 5 : 6)
        assert.notEqual(readFileSync(fileOf(cli, berth.url, 'refresh-token'), 'utf8'), before)
      }
      // A refresh token that came twice would have ended the session.
      assert.equal((await cli.run(['auth', 'status'])).code, 0)
      await cli.ok(['auth', 'login', '--refresh-only'])
      const left = readdirSync(join(cli.home, '.cache', 'berth'), { recursive: true, encoding: 'utf8' })
      const directories = [berth.url.replaceAll('/', '-'), registry]
      assert.deepEqual(
        left.filter((name) => !directories.includes(name) && !/\/(oidc|refresh)-token$/.test(name)),
        [],
        'no lock and no draft stays behind',
      )
    })

    test('the lock of a program that died is taken over', async () => {
      const cli = await signedIn()
      rmSync(fileOf(cli, berth.url, 'oidc-token'))
      const lock = join(cli.home, '.cache', 'berth', 'refresh.lock')
      mkdirSync(lock)
      const longAgo = new Date(Date.now() - 60_000)
      utimesSync(lock, longAgo, longAgo)
      const tokens = await Promise.all(Array.from({ length: 5 }, () => cli.ok(['auth', 'token'])))
      assert.equal(new Set(tokens).size, 1, 'one of several programs refreshed')
      assert.equal(decodeJwt(tokens[0] ?? '').sub, berth.owner)
    })

    test('a token is renewed before it ends', async () => {
      const cli = await signedIn()
      keep(cli, berth.url, 'oidc-token', accessToken(30))
      assert.equal(decodeJwt(await cli.ok(['auth', 'token'])).sub, berth.owner)
    })

    test('a refresh token that was used elsewhere ends the sign-in, and says what to do', async () => {
      const cli = await signedIn()
      const stolen = readFileSync(fileOf(cli, berth.url, 'refresh-token'), 'utf8')
      await cli.ok(['auth', 'login', '--refresh-only'])
      keep(cli, berth.url, 'refresh-token', stolen)
      const { code, stderr } = await cli.run(['auth', 'login', '--refresh-only'])
      assert.equal(code, 1, stderr)
      assert.throws(() => statSync(fileOf(cli, berth.url, 'refresh-token')), { code: 'ENOENT' })
      assert.equal((await cli.run(['auth', 'status'])).code, 4)
    })

    test('a token of the environment is used as it is, and nothing is kept of it', async () => {
      const cli = commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token })
      assert.equal(await cli.ok(['auth', 'token']), berth.token)
      assert.match(await cli.ok(['auth', 'status', '-o', 'id']), new RegExp(berth.owner))
      assert.deepEqual(readdirSync(cli.home), [])
    })
  })

test('modes are restored where they were loosened', async (t) => {
  const url = await answering(t, (_, response) =>
    response.end(
      JSON.stringify({ token: { token: accessToken(3600) }, refreshToken: { token: refreshToken(9999) } }),
    ),
  )
  const cli = commandLine(t, url)
  keep(cli, url, 'refresh-token', refreshToken(9999))
  chmodSync(fileOf(cli, url, 'refresh-token'), 0o644)
  await cli.ok(['auth', 'token'])
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
  const file = fileOf(cli, url, 'refresh-token')
  assert.deepEqual(
    [modeOf(file), modeOf(join(file, '..')), modeOf(join(file, '..', '..'))],
    ['600', '700', '700'],
  )
})

test('while the server cannot renew, what is left of a token is used, and the sign-in is kept', async (t) => {
  const url = await answering(t, (_, response) => response.writeHead(503).end('busy'))
  const cli = commandLine(t, url)
  const kept = refreshToken(9999)
  keep(cli, url, 'refresh-token', kept)
  const old = accessToken(30)
  keep(cli, url, 'oidc-token', old)
  assert.equal(await cli.ok(['auth', 'token']), old)
  keep(cli, url, 'oidc-token', accessToken(-1))
  const busy = await cli.run(['auth', 'token'])
  assert.deepEqual([busy.code, busy.stderr], [3, 'berth: the token cannot be refreshed now: busy\n'])
  const gone = await cli.run(['auth', 'token'], { env: { BERTH_ISSUER: 'http://127.0.0.1:9' } })
  assert.equal(gone.code, 3)
  assert.match(
    gone.stderr,
    /^berth: http:\/\/127\.0\.0\.1:9 cannot be reached \(.+\)\ncheck that the server is running; to use another one, .*--api, BERTH_API or berth config set api URL\n$/,
  )
  assert.equal(readFileSync(fileOf(cli, url, 'refresh-token'), 'utf8'), kept)
})

test('R34: a token service that redirects gets no token, and neither does who it points to', async (t) => {
  const seen: string[] = []
  const elsewhere = await answering(t, (request, response) => {
    seen.push(request.url ?? '')
    response.end('{}')
  })
  const url = await answering(t, (_, response) => response.writeHead(307, { location: elsewhere }).end())
  const cli = commandLine(t, url)
  keep(cli, url, 'refresh-token', refreshToken(9999))
  assert.equal((await cli.run(['auth', 'token'])).code, 3)
  assert.equal((await cli.run(['iam', 'roles', 'list'], { env: { BERTH_TOKEN: accessToken(99) } })).code, 3)
  assert.deepEqual(seen, [])
})

test('an expired or invalid refresh token counts as signed out', async (t) => {
  const url = await answering(t, (_, response) => response.end('{}'))
  for (const text of [refreshToken(-1), 'garbage', '', Buffer.from('[]').toString('base64')]) {
    const cli = commandLine(t, url)
    keep(cli, url, 'refresh-token', text)
    assert.equal((await cli.run(['auth', 'token'])).code, 4, text)
  }
})

test('a caller who is not signed in learns first that the server is unreachable', async (t) => {
  const cli = commandLine(t, 'http://127.0.0.1:9')
  for (const args of [
    ['auth', 'token'],
    ['auth', 'status'],
    ['iam', 'folders', 'list'],
    ['audit', 'list'],
  ]) {
    const { code, stdout, stderr } = await cli.run(args)
    assert.deepEqual([code, stdout], [3, ''], args.join(' '))
    assert.match(stderr, /^berth: http:\/\/127\.0\.0\.1:9 cannot be reached /, args.join(' '))
  }
})

test('no audience leads out of the cache', async (t) => {
  const cli = commandLine(t, await answering(t, (_, response) => response.end('{}')))
  writeFileSync(join(cli.home, 'oidc-token'), accessToken(999))
  mkdirSync(join(cli.home, '.cache', 'berth'), { recursive: true })
  writeFileSync(join(cli.home, '.cache', 'oidc-token'), accessToken(999))
  for (const audience of ['..', '../..', '.', '/../../'])
    assert.equal((await cli.run(['auth', 'token', '--audience', audience])).code, 4, audience)
  await cli.ok(['auth', 'logout', '--audience', '..'])
  assert.ok(statSync(join(cli.home, '.cache', 'oidc-token')).isFile())
})

test('logging out deletes tokens and drafts of them, and nothing else', async (t) => {
  const url = 'http://127.0.0.1:9'
  const cli = commandLine(t, url)
  keep(cli, url, 'oidc-token', accessToken(999))
  keep(cli, url, 'oidc-token.4711', accessToken(999))
  keep(cli, url, 'notes.txt', 'mine')
  keep(cli, 'other', 'oidc-token', accessToken(999))
  assert.equal((await cli.run(['auth', 'logout'])).stderr, 'signed out\n')
  const left = readdirSync(join(cli.home, '.cache'), { recursive: true, encoding: 'utf8' })
  assert.deepEqual(left.sort(), [
    'berth',
    `berth/${url.replaceAll('/', '-')}`,
    `berth/${url.replaceAll('/', '-')}/notes.txt`,
  ])
})

test('several audiences for one printed token are a mistake', async (t) => {
  const cli = commandLine(t, 'http://127.0.0.1:9')
  for (const args of [
    ['--audience', 'a,b'],
    ['--audience', 'a', '--audience=b'],
  ]) {
    const { code, stderr } = await cli.run(['auth', 'token', ...args])
    assert.deepEqual(
      [code, stderr],
      [2, 'berth: --audience is allowed only once: the command prints one token\n'],
    )
  }
})

test('printing a kept token loads few modules, and none of a package', async (t) => {
  const loaded = async (args: readonly string[], configure?: (cli: CommandLine) => Promise<unknown>) => {
    const cli = commandLine(t, 'http://127.0.0.1:9')
    keep(cli, 'http://127.0.0.1:9', 'oidc-token', accessToken(999))
    await configure?.(cli)
    const list = join(temporaryDirectory(t), 'modules')
    const hook = `data:text/javascript,${encodeURIComponent(`
      import { registerHooks } from 'node:module'
      import { appendFileSync } from 'node:fs'
      registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(list)}, url + '\\n'); return next(url, context) } })
    `)}`
    const { code, stderr } = await runBerth(t, args, cli.env, { nodeArgs: ['--import', hook] })
    assert.equal(code, 0, stderr)
    return readFileSync(list, 'utf8')
      .trim()
      .split('\n')
      .filter((url) => url.startsWith('file:'))
  }
  const packages = (urls: readonly string[]) => [
    ...new Set(urls.flatMap((url) => /node_modules\/([^/]+)/.exec(url)?.[1] ?? [])),
  ]
  const few = await loaded(['auth', 'token'])
  assert.ok(few.length <= 9, few.join('\n'))
  assert.deepEqual(packages(few), [])
  const named = ['auth', 'token', '--audience=http://127.0.0.1:9']
  const configured = await loaded(named, async (cli) => {
    await cli.ok(['config', 'use', 'work'])
    await cli.ok(['config', 'set', 'default.group', 'x'])
  })
  assert.deepEqual(packages(configured), [])
  const commented = await loaded(named, async (cli) => {
    mkdirSync(join(cli.home, '.config', 'berth'), { recursive: true })
    writeFileSync(join(cli.home, '.config', 'berth', 'config.yaml'), 'profile: default # the only one\n')
  })
  assert.deepEqual(packages(commented), ['yaml'])
  // Prompts, the client of the API and the server belong to commands that need them.
  const status = await loaded(['auth', 'status', '--quick'])
  const heavy = /@inquirer|kysely|better-sqlite3|jose|client\/generated|aws4|\/open\//
  const server = /\/packages\/server\//
  const unwanted = (url: string) => (url.includes('node_modules') ? heavy.test(url) : server.test(url))
  assert.deepEqual(status.filter(unwanted), [])
})

test('a person’s files are where their system has them', () => {
  const env = { HOME: '/home/ada' }
  assert.equal(cacheDirectory(env, 'linux'), '/home/ada/.cache')
  assert.equal(cacheDirectory({ ...env, XDG_CACHE_HOME: '/cache' }, 'linux'), '/cache')
  assert.equal(cacheDirectory({ ...env, XDG_CACHE_HOME: '/cache' }, 'darwin'), '/home/ada/Library/Caches')
  assert.equal(cacheDirectory({ LOCALAPPDATA: '/local' }, 'win32'), '/local')
  assert.equal(configDirectory(env, 'linux'), '/home/ada/.config')
  assert.equal(configDirectory({ ...env, XDG_CONFIG_HOME: '/config' }, 'darwin'), '/config')
  assert.equal(configDirectory({ APPDATA: '/roaming' }, 'win32'), '/roaming')
})
