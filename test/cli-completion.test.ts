import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { createGroup, createIdentity, createOrganization, createResource } from './support/api/tenant.ts'
import { type CommandLine, commandLine } from './support/cli/command-line.ts'
import { cleanups, program, runBerth, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** Completion of command lines: the candidates, and the scripts that offer them in a shell. */

const isInstalled = (shell: string) => spawnSync(shell, ['--version'], { stdio: 'ignore' }).status === 0

/** Completes the last word; candidates without their descriptions. */
async function candidates(cli: Pick<CommandLine, 'run'>, ...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await cli.run(['__complete', ...words])
  assert.deepEqual([code, stderr], [0, ''], words.join(' '))
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.replace(/\t.*/, ''))
}

test('completes commands, their aliases, flags and their choices, without a server', async (t) => {
  const cli = commandLine(t, 'http://127.0.0.1:1')
  const offered = (...words: string[]) => candidates(cli, ...words)
  assert.deepEqual(await offered('im'), ['images'])
  const organizations = ['list', 'create', 'describe', 'update', 'delete', '--help']
  assert.deepEqual(await offered('iam', 'org', ''), organizations)
  assert.deepEqual(await offered('--profile', 'work', 'iam', 'folders', 'li'), ['list'])
  assert.deepEqual(await offered('iam', 'roles', 'list', '--na'), ['--name'])
  assert.deepEqual(await offered('images', 'list', '--log'), ['--log-level'])
  assert.deepEqual(await offered('images', 'list', '-o', 'j'), ['json'])
  assert.deepEqual(await offered('images', 'list', '--output=y'), ['--output=yaml'])
  assert.deepEqual(await offered('iam', 'identities', 'list', '--type', 'a'), ['aws'])
  assert.deepEqual(await offered('iam', 'identities', 'create', 'token', 'x', '-f', ''), [':files'])
  assert.deepEqual(await offered('iam', 'roles', 'create', 'x', '--capabilities', 'tag.d'), ['tag.delete'])
  assert.deepEqual(await offered('iam', 'folders', 'create', 'x', '--parent', ''), [], 'not signed in')
  assert.deepEqual(await offered('nothing', 'of', 'it', ''), [])
  await cli.ok(['config', 'use', 'work'])
  assert.deepEqual(await offered('config', 'use', 'w'), ['work'])
  assert.deepEqual(await offered('--profile', ''), ['work'])
})

describe('names of the server', () => {
  const cleanup = cleanups()
  let berth: TestBerth
  let cli: CommandLine
  before(async () => {
    berth = await startTestBerth({ name: 'sqlite', open: undefined })
    cli = commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token })
    const organization = await createOrganization(berth, 'fleet')
    const team = await createGroup(berth, organization, 'team')
    await createIdentity(berth, team, undefined, 'deployer')
    const repo = await createResource(berth, `/registry/v2beta1/repos/${team}`, { name: 'hello' })
    const digest = `sha256:${'ab'.repeat(32)}`
    for (const name of ['1.0', 'latest'])
      await createResource(berth, `/registry/v2beta1/tags/${repo.uid}`, { name, digest })
  })
  after(async () => {
    await cleanup.run()
    await berth.stop()
  })

  const offers: [candidates: string[], ...words: string[]][] = [
    [['fleet', 'fleet/team'], 'iam', 'roles', 'list', '--parent', 'fl'],
    [['fleet/team'], 'iam', 'folders', 'describe', 'fleet/'],
    [['fleet'], 'iam', 'organizations', 'describe', 'fl'],
    [['--parent=fleet/team'], 'images', 'list', '--parent=fleet/t'],
    [['registry.push'], 'iam', 'role-bindings', 'create', '--role', 'registry.pus'],
    [['fleet/team/deployer'], 'iam', 'identities', 'describe', 'fleet/'],
    [['fleet/team/deployer'], 'iam', 'role-bindings', 'list', '--identity', 'dep'],
    [['fleet/team/hello'], 'images', 'repos', 'describe', 'fleet/team/'],
    [['fleet/team/hello:1.0'], 'images', 'tags', 'resolve', 'fleet/team/hello:1'],
    [[], 'iam', 'folders', 'describe', 'elsewhere/'],
  ]
  for (const [expected, ...words] of offers)
    test(`completes ${words.join(' ')}`, async () => {
      assert.deepEqual(await candidates(cli, ...words), expected)
    })

  test('offers no name that the shell would split or run', async () => {
    const organization = await createOrganization(berth, 'traps')
    for (const name of ['two words', 'plain']) await createIdentity(berth, organization, undefined, name)
    assert.deepEqual(await candidates(cli, 'iam', 'identities', 'describe', 'traps/'), ['traps/plain'])
    const feed = ['advisories', 'feeds', 'add', '--parent', 'traps', '--paused']
    for (const file of ['all.zip', '$(reboot).zip'])
      await cli.ok([...feed, `https://osv.example.com/${file}`])
    assert.deepEqual(await candidates(cli, 'advisories', 'feeds', 'describe', 'https'), [
      'https://osv.example.com/all.zip',
    ])
  })

  test('keeps the names for the same caller only, in a file of its owner', async () => {
    const words = ['iam', 'folders', 'describe', 'fleet/']
    assert.deepEqual(await candidates(cli, ...words), ['fleet/team'])
    const file = join(cli.home, '.cache', 'berth', 'completion.json')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.ok(!readFileSync(file, 'utf8').includes(berth.token))
    const withoutServer = { BERTH_API: 'http://127.0.0.1:1' }
    const { stdout } = await cli.run(['__complete', ...words], { env: withoutServer })
    assert.equal(stdout, '', 'another server')
    const stranger = await cli.run(['__complete', ...words], { env: { BERTH_TOKEN: 'other' } })
    assert.deepEqual([stranger.code, stranger.stdout, stranger.stderr], [0, '', ''])
    await cli.ok(['auth', 'logout'])
    assert.throws(() => statSync(file), /ENOENT/)
  })
})

/** Runs lines in a shell that has loaded the script; `berth` on its PATH is the program. */
async function runInShell(t: TestContext, shell: string, args: readonly string[], lines: string) {
  const directory = temporaryDirectory(t)
  const file = join(directory, '_berth')
  writeFileSync(file, (await runBerth(t, ['completion', shell])).stdout)
  const start = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`
  writeFileSync(join(directory, 'berth'), start, { mode: 0o755 })
  const { stdout, stderr } = spawnSync(shell, [...args, '-c', lines.replaceAll('FILE', file)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${directory}:${process.env['PATH']}`, HOME: directory },
  })
  assert.equal(stderr, '')
  return stdout
}

test('bash offers them, also in words with a colon or an equals sign', {
  skip: !isInstalled('bash') && 'needs bash',
}, async (t) => {
  const complete = (line: string) =>
    `COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; _berth; echo "\${COMPREPLY[@]}"\n`
  const lines = [
    'berth iam org d',
    'berth images list -o j',
    'berth images list --output=y',
    'berth completion ',
  ]
  const offered = await runInShell(
    t,
    'bash',
    ['--norc', '--noprofile'],
    `source FILE\n${lines.map(complete).join('')}`,
  )
  assert.deepEqual(offered.trim().split('\n'), ['describe delete', 'json', 'yaml', 'bash zsh fish'])
})

test('fish offers them with their descriptions', {
  skip: !isInstalled('fish') && 'needs fish',
}, async (t) => {
  const lines = 'source FILE; complete -C "berth iam org d"; complete -C "berth images list -o j"'
  const offered = await runInShell(t, 'fish', ['--no-config'], lines)
  assert.deepEqual(offered.trim().split('\n'), [
    'delete\tDelete an organization, which must be empty',
    'describe\tShow an organization',
    'json',
  ])
})

test('zsh offers them, from a file of its fpath too', {
  skip: !isInstalled('zsh') && 'needs zsh',
}, async (t) => {
  const lines = `
    compadd() { shift 4; print -r -- "$@" }
    compdef() { print compdef "$@" }
    words=(berth iam org ''); CURRENT=4
    source FILE; _berth
    unfunction _berth; fpath=($(dirname FILE)); autoload -U _berth; _berth`
  const next = 'list create describe update delete --help'
  assert.equal(await runInShell(t, 'zsh', ['-f'], lines), `compdef _berth berth\n${next}\n${next}\n`)
})

test('an unknown shell is an error that lists the known ones', async (t) => {
  const { code, stderr } = await runBerth(t, ['completion', 'tcsh'])
  assert.equal(code, 2)
  assert.match(stderr, /Allowed choices are bash, zsh, fish/)
})
