import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { bindRole, createGroup, createIdentity, createOrganization } from './support/api/tenant.ts'
import { type CommandLine, commandLine } from './support/cli/command-line.ts'
import { anyDatabase } from './support/database/databases.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** `berth audit`, `berth usage` and `berth open`. */

for (const database of anyDatabase)
  describe(`audit, usage and open on ${database.name}`, () => {
    const cleanup = cleanups()
    let berth: TestBerth
    let cli: CommandLine
    before(async () => {
      berth = await startTestBerth(database, { env: { BERTH_RESOURCE_LIMITS: 'groups=4' } })
      cli = commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token })
      const organization = await createOrganization(berth, 'acme')
      await createGroup(berth, organization, 'team')
      const viewer = await createIdentity(berth, organization, undefined, 'reader')
      await bindRole(berth, organization, viewer, 'viewer')
      const denied = commandLine(cleanup, berth.url, { BERTH_TOKEN: await berth.tokenOf(viewer) })
      assert.equal((await denied.run(['iam', 'folders', 'create', 'x', '--parent', 'acme'])).code, 1)
    })
    after(async () => {
      await cleanup.run()
      await berth.stop()
    })
    const audit = (...args: string[]) =>
      cli.ok(['audit', 'list', '--parent', 'acme', '--no-headers', ...args])

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
        ['--resource', 'acme'],
        ['--result', 'maybe'],
      ] as const)
        assert.equal((await cli.run(['audit', 'list', option, value])).code, 2, option)
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
      assert.match(usage, /^acme +repos +0 +none *$/m)
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
