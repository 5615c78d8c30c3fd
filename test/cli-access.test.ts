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
import { anyDatabase } from './support/database/databases.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** `berth iam access`: who can do what, and why. */

for (const database of anyDatabase)
  describe(`berth iam access on ${database.name}`, () => {
    const cleanup = cleanups()
    let berth: TestBerth
    let owner: CommandLine
    let member: CommandLine
    let ci: string
    before(async () => {
      berth = await startTestBerth(database)
      const root = await createOrganization(berth, 'acme')
      const team = await createGroup(berth, root, 'team')
      await createResource(berth, `/registry/v2beta1/repos/${team}`, { name: 'web' })
      ci = await createIdentity(berth, root, undefined, 'ci')
      await bindRole(berth, root, ci, 'viewer')
      await bindRole(berth, team, ci, 'registry.push')
      const reader = await createIdentity(berth, root, undefined, 'reader')
      await bindRole(berth, team, reader, 'viewer')
      owner = commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token })
      member = commandLine(cleanup, berth.url, { BERTH_TOKEN: await berth.tokenOf(reader) })
    })
    after(async () => {
      await cleanup.run()
      await berth.stop()
    })

    test('list: members with their roles and where they come from', async () => {
      const out = await owner.ok(['iam', 'access', 'list', 'acme/team', '--kind', 'workload'])
      assert.match(out, /^NAME +KIND +ROLE +FROM\n/)
      assert.match(out, /ci +workload +registry\.push +direct/)
      assert.match(out, /ci +workload +viewer +acme/)
      const direct = await owner.ok([
        'iam',
        'access',
        'list',
        'acme/team',
        '--direct',
        '--query',
        'CI',
        '--json',
      ])
      assert.deepEqual(
        JSON.parse(direct).items.map((one: { role: { name: string } }) => one.role.name),
        ['registry.push'],
      )
      const limited = await member.run(['iam', 'access', 'list', 'acme/team'])
      assert.equal(limited.code, 0)
      assert.match(
        limited.stderr,
        /not shown: 1 user with the role owner in acme, whose role bindings you cannot read/,
      )
      assert.doesNotMatch(limited.stdout, /acme/)
    })

    test('explain: the result, with exit code 1 if it is not allowed', async () => {
      const explain = (...args: string[]) => owner.run(['iam', 'access', 'explain', 'acme/team/web', ...args])
      const yes = await explain('--identity', 'ci', '--capability', 'manifest.create')
      assert.equal(yes.code, 0, yes.stderr)
      assert.match(yes.stdout, /^ci: yes\n {2}✔ manifest\.create: registry\.push\n/)
      assert.match(yes.stdout, /role viewer: acme \(does not suffice\)/)
      const no = await explain('--identity', ci, '--capability', 'repo_policies.update')
      assert.equal(no.code, 1)
      assert.match(no.stdout, /^ci: no\n {2}✘ repo_policies\.update\n/)
      assert.match(no.stdout, /Roles that suffice: owner\n/)
      const method = 'chainguard.platform.registry.v2beta1.ReposService/CreateRepo'
      const json = await explain('--identity', 'ci', '--method', method, '--json')
      assert.equal(JSON.parse(json.stdout).outcome, 'OUTCOME_ALLOWED')
      const hidden = await member.run([
        ...['iam', 'access', 'explain', 'acme/team', '--identity', ci, '--capability', 'groups.delete'],
      ])
      assert.match(hidden.stdout, /: unknown: the roles that you can read do not suffice\n/)
    })

    test('who-can: members with a capability', async () => {
      const out = await owner.ok([
        'iam',
        'access',
        'who-can',
        'manifest.create',
        'acme/team/web',
        '--no-headers',
      ])
      assert.match(out, /ci +workload +registry\.push +team/)
      assert.doesNotMatch(out, /reader|viewer/)
    })

    test('wrong usage is one line', async () => {
      for (const [args, message] of [
        [['who-can', 'repo.fly', 'acme'], /CAPABILITY: "repo\.fly" is not a capability/],
        [['explain', 'acme', '--identity', 'ci'], /specify --capability or --method/],
        [['explain', 'acme', '--capability', 'repo.list'], /--identity/],
        [
          ['explain', 'acme', '--capability', 'repo.list', '--identity', 'nobody'],
          /identity "nobody" not found/,
        ],
        [['list', 'nowhere'], /"nowhere" not found or not visible to you/],
      ] as const) {
        const { code, stderr } = await owner.run(['iam', 'access', ...args])
        assert.equal(code, 2, stderr)
        assert.match(stderr, message)
      }
    })
  })
