import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { properties } from '@berth/cli/config/settings.ts'
import { readConfig } from '@berth/server/installation/config.ts'
import { parse } from 'yaml'
import { type CommandLine, commandLine } from './support/cli/command-line.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** The configuration file, and what counts before what. */

const UNREACHABLE = 'http://127.0.0.1:9'
const ESCAPE = '\u001b'
const BELL = '\u0007'
const newcomer = (t: TestContext, env: Record<string, string> = {}) => {
  const cli = commandLine(t, UNREACHABLE, env)
  const { BERTH_API: _, ...rest } = cli.env
  const without = (own: Record<string, string> = {}) => ({ BERTH_API: '', ...rest, ...own })
  return {
    ...cli,
    run: (args: readonly string[], { env: own = {}, ...more } = {}) =>
      cli.run(args, { ...more, env: without(own) }),
    ok: (args: readonly string[], { env: own = {}, ...more } = {}) =>
      cli.ok(args, { ...more, env: without(own) }),
  }
}
const fileOf = ({ home }: Pick<CommandLine, 'home'>) => join(home, '.config', 'berth', 'config.yaml')
const view = async (cli: Pick<CommandLine, 'ok'>, args: readonly string[] = [], env = {}) => {
  const { items } = JSON.parse(await cli.ok(['config', 'view', '-o', 'json', ...args], { env }))
  return Object.fromEntries(
    items.map((item: { property: string; value: string }) => [item.property, item.value]),
  )
}

test('flags count before the environment, that before the profile, and that before defaults', async (t) => {
  const cli = newcomer(t)
  assert.deepEqual(await view(cli), {
    profile: 'default',
    api: 'http://127.0.0.1:8080',
    issuer: 'http://127.0.0.1:8080',
    audience: 'http://127.0.0.1:8080',
    registry: '127.0.0.1:8080',
  })
  await cli.ok(['config', 'set', 'api', 'https://file.example'])
  assert.deepEqual((await view(cli))['issuer'], 'https://file.example')
  const env = { BERTH_API: 'https://env.example', BERTH_DEFAULT_GROUP: 'my-org' }
  const fromEnvironment = await view(cli, [], env)
  assert.deepEqual(
    [fromEnvironment['api'], fromEnvironment['default.group']],
    ['https://env.example', 'my-org'],
  )
  assert.equal((await view(cli, ['--api', 'https://flag.example'], env))['api'], 'https://flag.example')
  assert.deepEqual(await view(cli, ['--diff'], env), { api: 'https://file.example' })
})

test('a profile for each server: made, used, named by flag or environment, deleted', async (t) => {
  const cli = newcomer(t)
  await cli.ok(['config', 'set', 'api', 'https://work.example', '--profile', 'work'])
  await cli.ok(['config', 'set', 'api', 'https://home.example'])
  assert.equal((await view(cli))['api'], 'https://home.example')
  assert.equal((await view(cli, ['--profile', 'work']))['api'], 'https://work.example')
  assert.equal((await view(cli, [], { BERTH_PROFILE: 'work' }))['api'], 'https://work.example')
  assert.equal((await cli.run(['config', 'use', 'work'])).stderr, 'switched to profile work\n')
  assert.equal((await view(cli))['api'], 'https://work.example')
  assert.equal(
    await cli.ok(['config', 'profiles', '-o', 'csv']),
    'PROFILE,API,CURRENT\nwork,https://work.example,yes\ndefault,https://home.example,\n',
  )
  const unknown = await cli.run(['auth', 'token', '--profile', 'nowhere'])
  assert.deepEqual(
    [unknown.code, unknown.stderr],
    [2, 'berth: profile "nowhere" not found; create it with berth config use nowhere\n'],
  )
  const asked = await cli.run(['config', 'reset'])
  assert.equal(asked.code, 2)
  await cli.ok(['config', 'reset', '--yes'])
  assert.equal(await cli.ok(['config', 'profiles', '-o', 'id']), 'default\n')
  for (const name of ['../x', '', 'a b', 'x'.repeat(65)])
    assert.equal((await cli.run(['config', 'use', name])).code, 2, name)
})

test('edits of the user are preserved: comments, order, links and modes', async (t) => {
  const cli = newcomer(t)
  const real = join(cli.home, 'dotfiles.yaml')
  writeFileSync(
    real,
    '# my servers\nprofile: work\nprofiles:\n  work: # the big one\n    api: https://a.example\n',
  )
  chmodSync(real, 0o644)
  mkdirSync(join(cli.home, '.config', 'berth'), { recursive: true })
  symlinkSync(real, fileOf(cli))
  await cli.ok(['config', 'set', 'default.group', 'my-org'])
  await cli.ok(['config', 'set', 'output', 'wide', '--profile', 'other'])
  await cli.ok(['config', 'unset', 'api'])
  assert.ok(lstatSync(fileOf(cli)).isSymbolicLink())
  assert.equal(statSync(real).mode & 0o777, 0o644)
  assert.equal(
    readFileSync(real, 'utf8'),
    // A comment beside the name of a profile moves to a line of its own.
    '# my servers\nprofile: work\nprofiles:\n  work:\n    # the big one\n    default.group: my-org\n  other:\n    output: wide\n',
  )
  const fresh = newcomer(t)
  await fresh.ok(['config', 'use', 'work'])
  await fresh.ok(['config', 'set', 'output', 'json'])
  assert.equal(readFileSync(fileOf(fresh), 'utf8'), 'profile: work\nprofiles:\n  work:\n    output: json\n')
  assert.equal(statSync(fileOf(fresh)).mode & 0o777, 0o600)
})

test('mistakes are rejected before they are written', async (t) => {
  const cli = newcomer(t)
  const mistakes: [args: string[], says: RegExp][] = [
    [['colour', 'blue'], /^berth: colour is not a property; use one of api, issuer, /],
    [['api', 'nowhere'], /^berth: api must be a URL without a path, such as https:/],
    [['api', 'ftp://x.example'], /^berth: api must be a URL/],
    [['api', 'https://x.example/path'], /^berth: api must be a URL without a path/],
    [['auth.mode', 'psychic'], /^berth: auth\.mode must be one of browser, headless/],
    [['output', 'xml'], /^berth: output must be one of table/],
    [['api'], /missing required argument/],
  ]
  for (const [args, says] of mistakes) {
    const { code, stderr } = await cli.run(['config', 'set', ...args])
    assert.equal(code, 2, args.join(' '))
    assert.match(stderr, says)
  }
  assert.equal(existsSync(fileOf(cli)), false)
  assert.equal((await cli.run(['config', 'unset', 'colour'])).code, 2)
})

test('an invalid file is reported by name, and can be repaired with config commands', async (t) => {
  const cli = newcomer(t)
  mkdirSync(join(cli.home, '.config', 'berth'), { recursive: true })
  for (const text of [
    'profile: [',
    'profiles: 7',
    '- a',
    'just text',
    'profiles: {a: {api: nowhere}}',
    'profiles: {a: {x: y}}',
  ]) {
    writeFileSync(fileOf(cli), text)
    for (const args of [
      ['auth', 'token'],
      ['config', 'view'],
      ['config', 'set', 'output', 'json'],
    ]) {
      const { code, stderr } = await cli.run(args)
      assert.equal(code, 2, `${text}: ${stderr}`)
      assert.match(stderr, new RegExp(`^berth: ${fileOf(cli)}`), text)
    }
    assert.equal(readFileSync(fileOf(cli), 'utf8'), text)
  }
  const editor = join(cli.home, 'my editor')
  writeFileSync(editor, '#!/bin/sh\necho "profile: work\nprofiles:\n  work:\n    api: $NEXT" > "$1"\n')
  chmodSync(editor, 0o755)
  const EDITOR = `"${editor}"`
  const wrong = await cli.run(['config', 'edit'], { env: { EDITOR, NEXT: 'nowhere' } })
  assert.equal(wrong.code, 2)
  assert.match(
    wrong.stderr,
    /must be a URL.*; the configuration file is unchanged, your edit is in .*edit\.yaml/,
  )
  assert.equal(readFileSync(fileOf(cli), 'utf8'), 'profiles: {a: {x: y}}')
  await cli.ok(['config', 'edit'], { env: { EDITOR, NEXT: 'https://mended.example' } })
  assert.equal((await view(cli))['api'], 'https://mended.example')
  const failed = await cli.run(['config', 'edit'], { env: { EDITOR: 'false' } })
  assert.deepEqual(
    [failed.code, failed.stderr],
    [2, 'berth: the editor false failed; the configuration file is unchanged\n'],
  )
})

test('flags and environment are saved into a profile', async (t) => {
  const cli = newcomer(t)
  const save = ['config', 'save', '--profile', 'work', '--api', 'https://a.example']
  const env = { BERTH_ISSUER: 'https://b.example', BERTH_TOKEN: 'secret' }
  assert.equal((await cli.run(save, { env })).code, 2)
  await cli.ok([...save, '--yes'], { env })
  assert.deepEqual(parse(readFileSync(fileOf(cli), 'utf8')), {
    profile: 'default',
    profiles: { work: { issuer: 'https://b.example', api: 'https://a.example' } },
  })
})

test('the file is where the flag or the environment says', async (t) => {
  const cli = newcomer(t)
  const [one, other] = [join(cli.home, 'one.yaml'), join(cli.home, 'other.yaml')]
  await cli.ok(['config', 'set', 'output', 'json', '--config', one])
  await cli.ok(['config', 'set', 'output', 'yaml'], { env: { BERTH_CONFIG: other } })
  assert.deepEqual(
    [one, other].map((file) => parse(readFileSync(file, 'utf8')).profiles.default.output),
    ['json', 'yaml'],
  )
  assert.equal(existsSync(fileOf(cli)), false)
})

test('the server takes no variable of the command line for a mistake', () => {
  const env = Object.fromEntries(
    Object.keys(properties).map((name) => [`BERTH_${name.toUpperCase().replaceAll(/[.-]/g, '_')}`, 'x']),
  )
  const others = { BERTH_TOKEN: 'x', BERTH_CONFIG: 'x', BERTH_PROFILE: 'x', BERTH_ID_TOKEN: 'x' }
  assert.ok('config' in readConfig({ ...env, ...others, BERTH_IDENTITY_ID: 'x', BERTH_IDENTITY_TOKEN: 'x' }))
})

describe('with a server', () => {
  const cleanup = cleanups()
  let berth: TestBerth
  before(async () => {
    berth = await startTestBerth({ name: 'sqlite', open: undefined })
  })
  after(async () => {
    await cleanup.run()
    await berth.stop()
  })
  const owner = (more: Record<string, string> = {}) =>
    commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token, ...more })

  test('validate says whether it can be reached', async () => {
    const fine = await owner().run(['config', 'validate', '-o', 'csv'])
    assert.equal(fine.code, 0, fine.stderr)
    assert.match(fine.stdout, /^api,\S+,ok\nissuer,\S+,ok$/m)
    const gone = await owner({ BERTH_ISSUER: 'http://127.0.0.1:2' }).run(['config', 'validate'])
    assert.equal(gone.code, 3)
    assert.match(gone.stdout, /^api .* ok$/m)
  })

  test('the default group is where things are put and looked for', async () => {
    const cli = owner({ BERTH_DEFAULT_GROUP: 'default' })
    await cli.ok(['iam', 'folders', 'create', 'team'])
    const team = { env: { BERTH_DEFAULT_GROUP: 'default/team' } }
    await cli.ok(['images', 'repos', 'create', 'app'], team)
    assert.equal((await cli.ok(['images', 'repos', 'list', '-o', 'csv'], team)).split('\n').length, 3)
    // What is deleted has to be named.
    assert.equal((await cli.run(['iam', 'folders', 'delete', '--yes'], team)).code, 2)
  })

  test('errors are a line or two, with an exit code that says what kind', async () => {
    const none = { env: { BERTH_TOKEN: '' } }
    const cases: [args: string[], options: object, code: number, says: RegExp][] = [
      [['iam', 'roles', 'list'], none, 4, /^berth: you are not signed in to \S+: run berth auth login\n$/],
      [
        ['iam', 'roles', 'list'],
        { env: { BERTH_TOKEN: 'x' } },
        4,
        /^berth: .*\nBERTH_TOKEN has this token: set another one, or unset it and sign in with berth auth login\n$/,
      ],
      [
        ['iam', 'roles', 'list'],
        { env: { BERTH_API: 'http://127.0.0.1:2' } },
        3,
        /^berth: No response from .*\ncheck that the server is running/,
      ],
      [['iam', 'roles', 'list', '-o', 'xml'], {}, 2, /^berth: --output must be one of table, /],
      [['iam', 'roles', 'list', '--log-level', 'loud'], {}, 2, /^berth: option '--log-level/],
      [
        ['iam', 'roles', 'list'],
        { env: { BERTH_API: berth.url.replace('http:', 'https:') } },
        3,
        /^berth: No response from .* \(it does not use TLS: its URL starts with http:\/\/\)\n/,
      ],
      [['iam', 'fly'], {}, 2, /^berth: unknown command 'fly'\nsee berth iam --help\n$/],
      [['iam', 'roles', 'list', '-o'], {}, 2, /^berth: option '-o, --output <format>' argument missing\n/],
      [['login'], {}, 2, /^berth: unknown command 'login'\n\(Did you mean berth auth login\?\)\n$/],
      [['list'], {}, 2, /^berth: unknown command 'list'\nsee berth --help\n$/],
      [['iam', 'identitie'], {}, 2, /^berth: unknown command 'identitie'\n\(Did you mean identities\?\)\n$/],
      [
        ['images', 'vulns'],
        {},
        2,
        /^berth: missing required argument 'IMAGE'\nsee berth images vulns --help\n$/,
      ],
      [
        ['iam', 'identities', 'create', 'github', 'ci', '--repo', 'acme/app'],
        {},
        2,
        /^berth: unknown option '--repo'\n\(Did you mean --github-repo\?\)\n$/,
      ],
      [
        ['iam', 'roles', 'list', '--xx'],
        {},
        2,
        /^berth: unknown option '--xx'\nsee berth iam roles list --help\n$/,
      ],
      [['serve', '--port', '80'], {}, 2, /^berth: unknown option '--port'\n.* see berth serve --help\n$/],
      [['auth', 'logn'], {}, 2, /Did you mean login\?/],
      [['iam', 'folders', 'create', 'bad name!', '--parent', 'default'], {}, 1, /^berth: .*name/],
      [
        ['iam', 'organizations', 'delete', 'nope', '--yes'],
        {},
        2,
        /^berth: organization "nope" not found or not visible to you\n$/,
      ],
      [['iam', 'organizations', 'delete', 'default'], {}, 2, /Confirm with --yes/],
    ]
    for (const [args, options, code, says] of cases) {
      const finished = await owner().run(args, options)
      assert.equal(finished.code, code, `${args.join(' ')}: ${finished.stderr}`)
      assert.equal(finished.stdout, '')
      assert.match(finished.stderr, says)
      assert.ok(finished.stderr.trimEnd().split('\n').length <= 3, finished.stderr)
    }
  })

  test('requests can be watched, without a token or a query in what is shown', async () => {
    const { stderr } = await owner().run(['iam', 'roles', 'list', '--log-level', 'debug', '-o', 'none'])
    assert.match(stderr, /^GET http:\S+\/iam\/v2beta1\/roles 200 \d+ ms\n$/)
  })

  test('formats are what they say; colours are for terminals alone', async () => {
    const cli = owner()
    const list = (...more: string[]) => cli.ok(['iam', 'roles', 'list', ...more])
    const { items } = JSON.parse(await list('-o', 'json'))
    assert.ok(items.length > 3)
    assert.deepEqual(parse(await list('-o', 'yaml')).items, items)
    assert.equal(await list('-o', 'id'), items.map(({ uid }: { uid: string }) => `${uid}\n`).join(''))
    assert.equal((await list('-o', 'csv')).trimEnd().split('\n').length, items.length + 1)
    assert.equal(await list('-o', 'none'), '')
    const plain = await list()
    for (const sign of [ESCAPE, '│', '─']) assert.ok(!plain.includes(sign), sign)
    assert.ok((await list('--force-color')).startsWith(`${ESCAPE}[1m`))
    assert.equal(
      JSON.parse(await cli.ok(['iam', 'roles', 'list'], { env: { BERTH_OUTPUT: 'json' } })).items.length,
      items.length,
    )
  })

  test('names of other users reach the terminal without control sequences', async () => {
    const cli = owner()
    const { code, stderr } = await cli.run(['iam', 'folders', 'describe', `default/${ESCAPE}[31mred${BELL}`])
    assert.notEqual(code, 0)
    assert.ok(!stderr.includes(ESCAPE) && !stderr.includes(BELL), stderr)
  })

  test('a reader that has had enough ends the command quietly', async () => {
    const { child, finished } = owner().start(['iam', 'roles', 'capabilities', 'list', '-o', 'json'])
    child.stdout?.destroy()
    const { code, signal, stderr } = await finished
    assert.deepEqual([code, signal, stderr], [0, null, ''])
  })
})
