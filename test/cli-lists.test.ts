import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  bindRole,
  createGroup,
  createIdentity,
  createOrganization,
  createResource,
} from './support/api/tenant.ts'
import { type CommandLine, commandLine } from './support/cli/command-line.ts'
import { runInTerminal, withoutTerminal } from './support/cli/terminal.ts'
import { anyDatabase } from './support/database/databases.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** Lists on the command line: paths and names, order, filters, limits and trees. */

for (const database of anyDatabase)
  describe(`lists on ${database.name}`, () => {
    const cleanup = cleanups()
    let berth: TestBerth
    let cli: CommandLine
    let member: string
    before(async () => {
      berth = await startTestBerth(database)
      cli = commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token })
      const organization = await createOrganization(berth, 'acme')
      const team = await createGroup(berth, organization, 'team')
      const web = await createGroup(berth, team, 'web')
      for (const [parent, name] of [
        [organization, 'tools'],
        [web, 'hello'],
        [team, 'api'],
      ]) {
        berth.advance(1)
        await createResource(berth, `/registry/v2beta1/repos/${parent}`, { name })
      }
      member = await createIdentity(berth, web, undefined, 'deployer')
      await bindRole(berth, team, member, 'viewer')
    })
    after(async () => {
      await cleanup.run()
      await berth.stop()
    })
    const rows = async (...args: string[]) => (await cli.ok([...args, '--no-headers'])).trimEnd().split('\n')
    const fails = async (message: RegExp, ...args: string[]) => {
      const { code, stdout, stderr } = await cli.run(args)
      assert.deepEqual([code, stdout], [2, ''], stderr)
      assert.match(stderr, message)
    }

    test('show the paths of groups and repos, in their order, without uids', async () => {
      assert.deepEqual(await rows('images', 'repos', 'list', '--parent', 'acme'), [
        'acme/team/api',
        'acme/team/web/hello',
        'acme/tools',
      ])
      const folders = await cli.ok(['iam', 'folders', 'list', 'acme', '--flat'])
      assert.match(folders, /^PATH +DESCRIPTION\nacme\/team *\nacme\/team\/web *\n$/)
      assert.match(
        await cli.ok(['iam', 'role-bindings', 'list', '--parent', 'acme', '--filter', 'identity=deployer']),
        /^IDENTITY +ROLE +GROUP .*\ndeployer +viewer +acme\/team *\n/,
      )
      const bindings = ['iam', 'role-bindings', 'list', '--parent', 'acme/team']
      assert.doesNotMatch(await cli.ok(bindings), /[0-9a-f]{16}/)
      assert.match(await cli.ok([...bindings, '-o', 'wide']), /[0-9a-f]{40}\//)
      assert.match(
        await cli.ok(['iam', 'identities', 'list', '--parent', 'acme', '--name', 'deployer']),
        /\ndeployer +acme\/team\/web +\S+ +acme\/team: viewer /,
      )
      assert.match(
        await cli.ok(['images', 'repos', 'list', '--parent', 'acme', '-o', 'wide']),
        /[0-9a-f]{40}\//,
      )
    })

    test('folders are a tree unless rows are selected', async () => {
      const tree = 'acme\n└ team\n  └ web\n'
      assert.equal(await cli.ok(['iam', 'folders', 'list', 'acme']), tree)
      assert.equal(await cli.ok(['iam', 'folders', 'list', 'acme', '-o', 'tree']), tree)
      assert.deepEqual(await rows('iam', 'folders', 'list', 'acme', '--limit', '1'), ['acme/team'])
      assert.deepEqual(await rows('iam', 'folders', 'list', 'acme', '--sort', 'name desc'), [
        'acme/team/web',
        'acme/team',
      ])
      const { items } = JSON.parse(await cli.ok(['iam', 'folders', 'list', 'acme', '--json']))
      assert.equal(items.length, 2)
    })

    test('a caller who cannot see the organization sees the whole path all the same', async () => {
      const own = commandLine(cleanup, berth.url, { BERTH_TOKEN: await berth.tokenOf(member) })
      const list = async (...args: string[]) => own.ok([...args, 'list', '--no-headers'])
      assert.equal(await list('images', 'repos'), 'acme/team/api\nacme/team/web/hello\n')
      assert.equal(await own.ok(['iam', 'folders', 'list']), 'acme/team\n└ web\n')
      assert.equal(
        await own
          .ok(['iam', 'folders', 'list', '--filter', 'path~web', '--no-headers', '-o', 'csv'])
          .then((line) => line.split(',')[0]),
        'acme/team/web',
      )
    })

    test('the server or the command line sorts, filters and limits', async () => {
      const list = ['images', 'repos', 'list', '--parent', 'acme']
      const traced = async (...args: string[]) =>
        (await cli.run([...list, ...args, '-o', 'id', '--log-level', 'debug'])).stderr
      assert.deepEqual(await rows(...list, '--sort', 'name desc', '--limit', '1'), ['acme/tools'])
      assert.deepEqual(await rows(...list, '--sort', 'created_at desc', '--limit', '1'), ['acme/team/api'])
      assert.deepEqual(await rows(...list, '--sort', 'repo desc', '--limit', '2'), [
        'acme/tools',
        'acme/team/web/hello',
      ])
      assert.deepEqual(await rows(...list, '--filter', 'repo=acme/team/*', '--filter', 'repo~API'), [
        'acme/team/api',
      ])
      const none = await cli.run([...list, '--filter', 'repo=nothing'])
      assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'no rows match --filter\n'])
      assert.match(await traced('--sort', 'name'), /GET \S+\/registry\/v2beta1\/repos 200/)
    })

    test('an unknown field is an error that lists the known ones', async () => {
      const list = ['iam', 'roles', 'list']
      const known = 'name, created, updated, id, group, description, capabilities'
      await fails(new RegExp(`--sort: unknown field size; use one of ${known}`), ...list, '--sort', 'size')
      await fails(/--sort: "name down" must be a field, optionally with/, ...list, '--sort', 'name down')
      await fails(/--filter: unknown column size; use one of name, id, group/, ...list, '--filter', 'size=1')
      await fails(/--filter: "viewer" must be COLUMN=VALUE/, ...list, '--filter', 'viewer')
      await fails(/--limit: "0" must be a positive integer/, ...list, '--limit', '0')
    })

    test('an identity that was never used shows "never"', async () => {
      const list = [
        'iam',
        'identities',
        'list',
        '--parent',
        'acme',
        '--filter',
        'last-seen=never',
        '-o',
        'id',
      ]
      await createIdentity(berth, member.slice(0, member.lastIndexOf('/')), undefined, 'idle')
      assert.equal((await cli.ok(list)).trim().split('\n').length, 2)
    })

    test('the paths of many groups are read in several requests', async () => {
      const organization = await createOrganization(berth, 'wide')
      const names = Array.from({ length: 120 }, (_, at) => `folder-${String(at).padStart(3, '0')}`)
      for (const name of names) {
        const folder = await createGroup(berth, organization, name)
        await createResource(berth, `/registry/v2beta1/repos/${folder}`, { name: 'app' })
      }
      const listed = await rows('images', 'repos', 'list', '--parent', 'wide')
      assert.deepEqual(
        listed,
        names.map((name) => `wide/${name}/app`),
      )
    })

    test('a narrow terminal cuts long names', { skip: withoutTerminal }, async () => {
      const team = (await cli.ok(['iam', 'folders', 'describe', 'acme/team', '-o', 'id'])).trim()
      let parent = team
      for (let depth = 0; depth < 6; depth++)
        parent = await createGroup(berth, parent, `quite-a-long-name-of-a-folder-${depth}`)
      await createIdentity(berth, parent, undefined, 'an-identity-with-quite-a-long-name-of-its-own')
      const { text } = await runInTerminal(cli, ['iam', 'identities', 'list', '--filter', 'name~its-own'])
      const [head = '', row = ''] = text.trim().split('\n')
      assert.ok(head.length <= 100 && row.length <= 100, text)
      assert.match(row, /^an-identity-with\S*… +….*-folder-5 +/)
    })
  })
