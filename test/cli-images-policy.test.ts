import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { commandLine } from './support/cli/command-line.ts'
import { databases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { bearerOf, ociClient, pushImage, putManifest, testImage } from './support/registry/registry.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** Policies of repos on the command line. */

const [database] = databases

describe('policies on the command line', () => {
  let berth: TestBerth
  before(async () => {
    assert.ok(database)
    berth = await startTestBerth(database, { retention: { pollMs: 25 } })
  })
  after(() => berth.stop())

  const pushed = async (t: TestContext, repo: string) => {
    const client = ociClient(berth, await bearerOf(berth, berth.owner))
    const name = `${berth.organization}/${repo}`
    const image = await pushImage(client, name, testImage(), 'v1')
    for (const tag of ['main-1', 'main-2', 'main-3', 'latest']) {
      // The newest tags are kept: no two of them are of the same millisecond.
      berth.advance(1)
      await putManifest(client, name, tag, image)
    }
    const cli = commandLine(t, berth.url, { BERTH_TOKEN: berth.token })
    const policy = (...args: string[]) => cli.run(['images', 'policy', ...args])
    const tags = async () => (await client.request('GET', `${name}/tags/list`)).json.tags as string[]
    return { client, name, image, policy, tags }
  }

  test('an immutable tag is reported as the rule that it is, and not as missing rights', async (t) => {
    const { name, policy } = await pushed(t, 'fixed')
    assert.equal((await policy('set', 'fixed', '--immutable', 'v*')).code, 0)
    const cli = commandLine(t, berth.url, { BERTH_TOKEN: berth.token })
    const { code, stderr } = await cli.run(['images', 'tags', 'delete', `${name}:v1`, '--yes'])
    assert.equal(code, 1)
    assert.match(stderr, /status 403: Precondition failed: tag v1 of repo fixed is immutable/)
    assert.doesNotMatch(stderr, /credentials|auth status/)
  })

  test('a policy is set piece by piece, tried, enabled and applied', async (t) => {
    const { client, name, policy, tags } = await pushed(t, 'web')
    assert.match((await policy('describe', 'web')).stdout, /RETENTION\s+not enabled/)
    assert.equal((await policy('set', 'web', '--immutable', 'v*', '--except', 'v*-rc?')).code, 0)
    const rules = ['--keep', 'latest', '--keep', 'main-* newest=2', '--keep', 'x* younger=30d']
    const set = await policy('set', 'web', ...rules, '--untagged-after', '7d', '-o', 'json')
    assert.equal(set.code, 0, set.stderr)
    const { immutableTags, retention } = JSON.parse(set.stdout)
    assert.deepEqual(immutableTags, { patterns: ['v*'], exceptions: ['v*-rc?'] })
    assert.deepEqual(retention, {
      enabled: false,
      rules: [
        { patterns: ['latest'], newest: 0 },
        { patterns: ['main-*'], newest: 2 },
        { patterns: ['x*'], newest: 0, youngerThan: '2592000s' },
      ],
      untaggedAfter: '604800s',
    })
    const shown = await policy('describe', 'web')
    assert.match(shown.stdout, /KEEP\s+latest; main-\* newest=2; x\* younger=30d/)
    const preview = await policy('preview', 'web', '--deleted', '-o', 'id')
    assert.deepEqual([preview.code, preview.stdout], [0, 'main-1\n'])
    assert.match(preview.stderr, /1 tags and 0 manifests would be deleted/)
    const tried = JSON.parse((await policy('preview', 'web', '--keep', 'v*', '-o', 'json')).stdout)
    assert.deepEqual(tried.items.filter(({ deleted }: { deleted: boolean }) => deleted).length, 4)
    assert.equal((await policy('apply', 'web', '--yes')).code, 1)
    const unconfirmed = await policy('set', 'web', '--enable')
    assert.equal(unconfirmed.code, 2)
    assert.match(
      unconfirmed.stderr,
      /Enable retention on default\/web\? It deletes 1 tags and 0 manifests now\./,
    )
    assert.equal((await policy('set', 'web', '--enable', '--yes')).code, 0)
    await eventually(async () => !(await tags()).includes('main-1'))
    assert.deepEqual(await tags(), ['latest', 'main-2', 'main-3', 'v1'])
    await client.request('DELETE', `${name}/manifests/latest`)
    await pushImage(client, name, testImage(), 'other')
    const applied = await policy('apply', 'web', '--yes', '-o', 'json')
    assert.equal(applied.code, 0, applied.stderr)
    assert.equal(JSON.parse(applied.stdout).lastRun.deletedTags, 1)
    const runs = JSON.parse((await policy('runs', 'web', '-o', 'json')).stdout).items
    assert.deepEqual([runs[0].state, runs[0].deletedTags], ['STATE_SUCCEEDED', 1])
    assert.match((await policy('runs', 'web')).stdout, /^STARTED.*\n.* succeeded .* 1 +/)
    assert.match((await policy('runs', 'web', '--until', '2020-01-01')).stderr, /no runs recorded/)
    assert.equal((await policy('set', 'web', '--mutable')).code, 2)
    const off = await policy(
      'set',
      'web',
      '--disable',
      '--mutable',
      '--keep-all',
      '--untagged-after',
      'never',
      '-o',
      'json',
    )
    assert.deepEqual(JSON.parse(off.stdout).retention, { enabled: false, rules: [] })
  })

  test('what is no rule is rejected before anything is asked', async (t) => {
    const { policy } = await pushed(t, 'refused')
    for (const args of [['--keep', 'newest=x'], ['--keep', 'younger=soon'], ['--untagged-after', 'soon'], []])
      assert.equal((await policy('set', 'refused', ...args)).code, 2, String(args))
    assert.equal((await policy('set', 'refused', '--keep', 'a/b')).code, 1)
    const { stdout } = await policy('set', '--help')
    assert.match(stdout, /--immutable[\s\S]*berth images policy set nginx/)
  })
})
