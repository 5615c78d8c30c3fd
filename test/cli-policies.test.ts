import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { commandLine } from './support/cli/command-line.ts'
import { databases } from './support/database/databases.ts'
import { bearerOf, ociClient, pushImage, testImage } from './support/registry/registry.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** Policies at pull on the command line. */

const [database] = databases

describe('policies at pull on the command line', () => {
  let berth: TestBerth
  before(async () => {
    assert.ok(database)
    berth = await startTestBerth(database)
  })
  after(() => berth.stop())

  const policies = (t: TestContext) => {
    const cli = commandLine(t, berth.url, { BERTH_TOKEN: berth.token })
    return (...args: string[]) => cli.run(['policies', ...args])
  }

  test('a policy is bound, denies a pull, and is overridden as the denial says', async (t) => {
    const run = policies(t)
    const client = ociClient(berth, await bearerOf(berth, berth.owner))
    const name = `${berth.organization}/app`
    const image = await pushImage(client, name, testImage(), 'nightly')
    const pull = () => client.request('GET', `${name}/manifests/nightly`)
    const listed = await run('list')
    assert.match(listed.stdout, /tag-pattern\s+system\s+patterns, \[allow_unknown\]/)
    const bound = await run('bind', 'tag-pattern', name, '--parameter', 'patterns=v*,release-*', '-o', 'json')
    assert.equal(bound.code, 0, bound.stderr)
    const binding = JSON.parse(bound.stdout)
    assert.deepEqual(binding.parameters, { patterns: ['v*', 'release-*'] })
    const denied = await pull()
    assert.equal(denied.status, 403)
    const [, command = ''] = /can allow it: berth policies (overrides create .*) --reason TEXT/.exec(
      denied.json.errors[0].message,
    )!
    const made = await run(...command.split(' '), '--reason', 'until Friday')
    assert.equal(made.code, 0, made.stderr)
    assert.equal((await pull()).status, 200)
    const [override] = JSON.parse((await run('overrides', 'list', '-o', 'json')).stdout).items
    assert.deepEqual([override.digest, override.reason], [image.digest, 'until Friday'])
    const decisions = JSON.parse(
      (
        await run(
          'decisions',
          '--policy',
          'tag-pattern',
          '--result',
          'denied',
          '--mode',
          'enforced',
          '-o',
          'json',
        )
      ).stdout,
    ).items
    assert.deepEqual(
      decisions.map(({ digest }: { digest: string }) => digest),
      [image.digest],
    )
    assert.deepEqual(
      JSON.parse((await run('decisions', '--until', '2020-01-01', '-o', 'json')).stdout).items,
      [],
    )
    assert.equal((await run('overrides', 'delete', override.id, '--yes')).code, 0)
    assert.equal((await pull()).status, 403)
    const table = await run('bindings')
    assert.match(table.stdout, /app\s+tag-pattern\s+enforced\s+patterns=v\*,release-\*/)
    assert.equal((await run('unbind', binding.id, '--yes')).code, 0)
    assert.equal((await pull()).status, 200)
    assert.match((await run('bindings')).stderr, /no policy applies/)
  })

  test('a custom policy is validated, created, shown and deleted', async (t) => {
    const run = policies(t)
    assert.match((await run('validate', '--expression', 'true')).stdout, /^valid/)
    const bad = await run('validate', '--expression', 'image.foo == 1')
    assert.equal(bad.code, 1)
    assert.match(bad.stdout, /1\s+6\s+image\.foo is unknown/)
    const created = await run(
      'create',
      'own',
      '--parent',
      berth.organization,
      '--expression',
      'image.tag != ""',
    )
    assert.equal(created.code, 0, created.stderr)
    assert.match((await run('describe', 'own')).stdout, /EXPRESSION\s+image\.tag != ""/)
    assert.match((await run('list', '--custom')).stdout, /own\s+custom/)
    assert.equal((await run('delete', 'own', '--yes')).code, 0)
    assert.doesNotMatch((await run('list')).stdout, /own\s+custom/)
  })

  test('wrong arguments are explained', async (t) => {
    const run = policies(t)
    const cases: readonly (readonly [RegExp, ...string[]])[] = [
      [/policy "none" not found/, 'bind', 'none', berth.organization],
      [/must be NAME=VALUE/, 'bind', 'maximum-age', berth.organization, '--parameter', 'x'],
      [/no parameter age: it has days/, 'bind', 'maximum-age', berth.organization, '--parameter', 'age=1'],
      [/days must be a whole number/, 'bind', 'maximum-age', berth.organization, '--parameter', 'days=x'],
      [
        /allow_unknown must be true or false/,
        'bind',
        'contents-known',
        berth.organization,
        '--parameter',
        'allow_unknown=1',
      ],
      [/parameters\.days: is required/, 'bind', 'maximum-age', berth.organization],
      [/--expression or --file is required/, 'create', 'x'],
      [/--since must be a day/, 'decisions', '--since', 'monday'],
      [/--digest is required/, 'overrides', 'create', berth.organization],
    ]
    for (const [message, ...args] of cases) {
      const { code, stderr } = await run(...args)
      assert.notEqual(code, 0, args.join(' '))
      assert.match(stderr, message)
    }
  })
})
