import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { bindRole, createGroup, createIdentity, createOrganization } from './support/api/tenant.ts'
import { type CommandLine, commandLine } from './support/cli/command-line.ts'
import { anyDatabase } from './support/database/databases.ts'
import { bearerOf, hostOf, ociClient, pushImage, testImage } from './support/registry/registry.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** A member of a folder alone names it by its path, in the command line and in the registry. */

for (const database of anyDatabase)
  describe(`members of a folder on ${database.name}`, () => {
    const cleanup = cleanups()
    let berth: TestBerth
    let cli: CommandLine
    let team: string
    before(async () => {
      berth = await startTestBerth(database)
      const root = await createOrganization(berth, 'acme')
      team = await createGroup(berth, root, 'team')
      await createGroup(berth, root, 'secret')
      const member = await createIdentity(berth, root)
      await bindRole(berth, team, member, 'editor')
      await bindRole(berth, team, member, 'registry.push')
      cli = commandLine(cleanup, berth.url, { BERTH_TOKEN: await berth.tokenOf(member) })
    })
    after(async () => {
      await cleanup.run()
      await berth.stop()
    })

    test('both its path and its name resolve, and what is beside it does not', async () => {
      for (const folder of ['acme/team', 'team', team])
        assert.equal((await cli.ok(['iam', 'folders', 'describe', folder, '-o', 'id'])).trim(), team)
      await cli.ok(['images', 'repos', 'create', 'hello', '--parent', 'acme/team'])
      for (const repo of ['acme/team/hello', 'team/hello'])
        assert.match(await cli.ok(['images', 'repos', 'describe', repo, '-o', 'id']), new RegExp(`^${team}/`))
      for (const other of ['acme/secret', 'acme/none', 'secret', 'acme']) {
        const { code, stderr } = await cli.run(['iam', 'folders', 'describe', other])
        assert.equal(code, 2, other)
        assert.match(
          stderr,
          /^berth: .* not found or not visible to you(; the path of a folder .*)?\n$/,
          other,
        )
      }
    })

    test('images are pushed, listed and pulled by the path', async () => {
      const name = 'acme/team/app'
      const owner = ociClient(berth, await bearerOf(berth, berth.owner))
      const image = await pushImage(owner, name, testImage(), 'v1')
      const host = hostOf(berth)
      const layout = join(cli.home, 'layout')
      await cli.ok(['images', 'pull', `${host}/${name}:v1`, layout])
      await cli.ok(['images', 'push', layout, `${host}/acme/team/sub/copy:v1`])
      const digest = await cli.ok(['images', 'digest', `${host}/acme/team/sub/copy:v1`])
      assert.equal(digest.trim(), image.digest)
      assert.match(await cli.ok(['images', 'tags', 'list', '--repo', name]), /v1/)
      for (const args of [
        ['images', 'repos', 'list'],
        ['images', 'list'],
      ]) {
        const listed = (await cli.ok([...args, '--no-headers'])).split('\n').map((line) => line.split(' ')[0])
        assert.ok(listed.includes('acme/team/sub/copy'), listed.join('\n'))
      }
      // What the list prints is what the registry takes.
      const [printed = ''] = (
        await cli.ok(['images', 'repos', 'list', '--filter', 'repo~copy', '--no-headers'])
      ).split(/\s/)
      await cli.ok(['images', 'push', layout, `${printed}:v2`])
      assert.equal((await cli.ok(['images', 'digest', `${printed}:v2`])).trim(), image.digest)
      await cli.ok(['images', 'pull', `${printed}:v2`, join(cli.home, 'again')])
      const unknown = await cli.run(['images', 'digest', 'elsewhere/copy:v1'])
      assert.equal(unknown.code, 1)
      assert.match(unknown.stderr, /elsewhere\/copy not found or not visible to you\n$/)
      const refused = await cli.run(['images', 'push', layout, `${host}/acme/secret/copy:v1`])
      assert.equal(refused.code, 1)
      assert.match(refused.stderr, /requires manifest\.create.*registry\.push or owner\n$/)
      assert.doesNotMatch(refused.stderr, /auth status/)
    })
  })
