import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { bindRole, createGroup, createIdentity, createOrganization } from './support/api/tenant.ts'
import { type CommandLine, commandLine } from './support/cli/command-line.ts'
import { anyDatabase } from './support/database/databases.ts'
import { bearerOf, ociClient, pushImage, testImage } from './support/registry/registry.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** `berth search`, `berth audit`, `berth usage` and `berth open`. */

for (const database of anyDatabase)
  describe(`search, audit, usage and open on ${database.name}`, () => {
    const cleanup = cleanups()
    let berth: TestBerth
    let cli: CommandLine
    let reader: CommandLine
    before(async () => {
      berth = await startTestBerth(database, { env: { BERTH_RESOURCE_LIMITS: 'groups=4' } })
      cli = commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token })
      const organization = await createOrganization(berth, 'acme')
      await createGroup(berth, organization, 'team')
      const viewer = await createIdentity(berth, organization, undefined, 'reader')
      await bindRole(berth, organization, viewer, 'viewer')
      reader = commandLine(cleanup, berth.url, { BERTH_TOKEN: await berth.tokenOf(viewer) })
      assert.equal((await reader.run(['iam', 'folders', 'create', 'x', '--parent', 'acme'])).code, 1)
    })
    after(async () => {
      await cleanup.run()
      await berth.stop()
    })
    const audit = (...args: string[]) =>
      cli.ok(['audit', 'list', '--parent', 'acme', '--no-headers', ...args])

    test('search finds resources of all kinds by name, and says what it does not print', async () => {
      const search = (...args: string[]) => cli.ok(['search', ...args])
      assert.match(await search('team', '--no-headers'), /^folder +acme\/team /)
      assert.match(
        await search('acme', '--kind', 'organization', '-o', 'csv', '--no-headers'),
        /^organization,acme,/,
      )
      assert.match(await search('read', '--parent', 'acme', '--kind', 'identity'), /acme\/reader/)
      assert.equal(await search('none-has-this', '-o', 'id'), '')
      const short = await cli.run(['search', 'x'])
      assert.equal(short.code, 2)
      assert.match(short.stderr, /TEXT must have at least 2 characters/)
    })

    test('audit lists events with names, newest first, by actor, method and result', async () => {
      assert.match(
        await audit('--method', 'CreateGroup', '--limit', '1', '--result', 'ok'),
        /^\d{4}-\d\d-\d\d \d\d:\d\dZ +\S+ +CreateGroup +acme\/team +ok\n$/,
      )
      for (let times = 0; times < 100; times++) {
        // Denials are recorded once a second.
        if ((await audit('--result', 'denied', '-o', 'id')) !== '') break
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      assert.match(await audit('--result', 'denied'), /Z +reader +CreateGroup +acme +denied +\S/)
      assert.match(await audit('--actor', 'acme/reader', '-o', 'csv'), /^\S+,reader,CreateGroup,acme,denied,/)
      assert.equal(await audit('--since', '1h', '--until', '30m', '-o', 'id'), '')
      const [uid = ''] = (await audit('-o', 'id', '--limit', '1')).split('\n')
      assert.match(await cli.ok(['audit', 'describe', uid]), /^TIME .*ago\)|^TIME .*just now\)/)
      for (const [option, value] of [
        ['--since', 'soon'],
        ['--resource', 'nowhere'],
        ['--result', 'maybe'],
      ] as const)
        assert.equal((await cli.run(['audit', 'list', option, value])).code, 2, option)
    })

    test('audit names tags, and finds the events of a resource by its path', async () => {
      await cli.ok(['images', 'repos', 'create', 'hello', '--parent', 'acme/team'])
      const [repo] = (await cli.ok(['images', 'repos', 'describe', 'acme/team/hello', '-o', 'id'])).split(
        '\n',
      )
      const owner = ociClient(berth, await bearerOf(berth, berth.owner))
      await pushImage(owner, 'acme/team/hello', testImage(), 'v1')
      assert.match(await audit(), / acme\/team\/hello:v1 /)
      assert.match(
        await audit('--resource', 'acme/team/hello', '--limit', '1', '--sort', 'time'),
        / CreateRepo +acme\/team\/hello +ok\n$/,
      )
      assert.equal(
        await audit('--resource', 'acme/team/hello', '-o', 'id'),
        await audit('--resource', repo ?? '', '-o', 'id'),
      )
      assert.match(await audit('--resource', 'acme/team'), / acme\/team +ok\n$/)
    })

    test('errors name resources by their paths, and by uids for programs', async () => {
      const [team = ''] = (await cli.ok(['iam', 'folders', 'describe', 'acme/team', '-o', 'id'])).split('\n')
      const remove = ['iam', 'folders', 'delete', 'acme/team', '--yes']
      const refused = await cli.run(remove)
      assert.equal(refused.code, 1)
      assert.match(refused.stderr, /acme\/team still contains repos/)
      assert.doesNotMatch(refused.stderr, /[0-9a-f]{16}/)
      const { stderr } = await cli.run([...remove, '-o', 'json'])
      assert.ok(stderr.includes(team), stderr)
      const denied = await reader.run(['iam', 'folders', 'create', 'x', '--parent', 'acme/team'])
      assert.match(denied.stderr, /to create a group at acme\/team you need groups\.create/)
    })

    test('usage of a member of a folder shows that folder', async () => {
      const [team = ''] = (await cli.ok(['iam', 'folders', 'describe', 'acme/team', '-o', 'id'])).split('\n')
      const uid = await createIdentity(berth, team)
      await bindRole(berth, team, uid, 'viewer')
      const member = commandLine(cleanup, berth.url, { BERTH_TOKEN: await berth.tokenOf(uid) })
      assert.match(await member.ok(['usage']), /^acme\/team +repos +1 +none *$/m)
    })

    test('audit follows new events', async () => {
      const following = cli.start(['audit', 'list', '--parent', 'acme', '--follow', '-o', 'json'])
      const printed = async (pattern: RegExp) => {
        for (let times = 0; times < 600 && !pattern.test(following.output().stdout); times++)
          await new Promise((resolve) => setTimeout(resolve, 25))
        assert.match(following.output().stdout, pattern, following.output().stderr)
      }
      // The start of the command is not visible: changes are made until it reports one.
      for (let times = 0; times < 60 && following.output().stdout === ''; times++) {
        await cli.ok(['iam', 'folders', 'update', 'acme/team', '-d', `change ${times}`])
        await new Promise((resolve) => setTimeout(resolve, 250))
      }
      await printed(/"method":"\S+UpdateGroup"/)
      following.child.kill('SIGINT')
      const { stdout } = await following.finished
      const uids = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).uid)
      assert.equal(new Set(uids).size, uids.length, 'no event twice')
    })

    test('usage counts resources and shows limits', async () => {
      const usage = await cli.ok(['usage', 'acme'])
      assert.match(usage, /^GROUP +RESOURCE +USED +LIMIT +SHARE\n/)
      assert.match(usage, /^acme +groups +\d+ +4 +\d+ %$/m)
      assert.match(usage, /^acme +repos +\d+ +none *$/m)
      assert.match(usage, /^acme +manifests +1 +none *$/m)
      assert.match(usage, /^acme +stored_bytes +\d+ B +none *$/m)
      const { items } = JSON.parse(
        await cli.ok(['usage', 'acme/team', '--filter', 'resource=groups', '--json']),
      )
      assert.deepEqual([items.length, items[0].used, items[0].limit], [1, 0, 4])
      assert.equal((await cli.run(['usage', 'nowhere'])).code, 2)
    })

    test('open prints the URL of a page where there is no browser', async () => {
      assert.equal(await cli.ok(['open']), `${berth.url}/\n`)
      assert.equal(await cli.ok(['open', 'docs', '--print-url']), `${berth.url}/docs\n`)
      const { url } = JSON.parse(await cli.ok(['open', 'account', '--json']))
      const page = await fetch(url, { redirect: 'manual' })
      assert.ok(page.status < 400, String(page.status))
      assert.equal((await cli.run(['open', 'nothing'])).code, 2)
    })
  })
