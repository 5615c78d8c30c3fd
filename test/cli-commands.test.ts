import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import { parse } from 'yaml'
import { managedRole } from './support/api/api-fixture.ts'
import {
  bindRole,
  createGroup,
  createIdentity,
  createOrganization,
  createResource,
  createRole,
} from './support/api/tenant.ts'
import { commandLine } from './support/cli/command-line.ts'
import { keys, runInTerminal, withoutTerminal } from './support/cli/terminal.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/**
 * The commands of `berth iam` and `berth images` as a user runs them. On SQLite alone: what a command does is a request, and what
 * requests do is tested on every database elsewhere.
 */

const sqlite = { name: 'sqlite', open: undefined } as const
const DAY_MS = 24 * 60 * 60 * 1000
const UID = /^[0-9a-f]{40}(\/[0-9a-f]{16})*\n$/

describe('commands', () => {
  const cleanup = cleanups()
  let berth: TestBerth
  before(async () => {
    berth = await startTestBerth(sqlite)
  })
  after(async () => {
    await cleanup.run()
    await berth.stop()
  })

  /** The owner of a new organization. */
  const inOrganization = async (name: string) => {
    const cli = commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token })
    return { cli, organization: await createOrganization(berth, name), ...using(cli) }
  }
  const using = (cli: ReturnType<typeof commandLine>) => ({
    ok: (...args: string[]) => cli.ok(args),
    json: async (...args: string[]) => JSON.parse(await cli.ok([...args, '-o', 'json'])),
    /** What a command says that ends with this code. */
    async refused(code: number, says: RegExp, ...args: string[]) {
      const finished = await cli.run(args)
      assert.equal(finished.code, code, `berth ${args.join(' ')}: ${finished.stderr}`)
      assert.match(finished.stderr, says, args.join(' '))
      assert.equal(finished.stdout, '', args.join(' '))
    },
    /** What a command prints to stderr. */
    async stderrOf(...args: string[]) {
      const { code, stdout, stderr } = await cli.run(args)
      assert.deepEqual([code, stdout], [0, ''], `berth ${args.join(' ')}: ${stderr}`)
      return stderr
    },
  })

  test('organizations are founded, shown, changed and deleted', async () => {
    const { ok, json, refused, stderrOf } = await inOrganization('one')
    const organizations = (...args: string[]) => ['iam', 'organizations', ...args]
    const made = await ok(...organizations('create', 'acme', '-d', 'Our images', '-o', 'id'))
    assert.match(made, UID)
    const uid = made.trim()
    assert.match(
      await ok(...organizations('describe', 'acme')),
      new RegExp(`^NAME +acme\nID +${uid}\nDESCRIPTION +Our images\nCREATED +\\S+ \\S+Z \\(.*\\)\n$`),
    )
    assert.equal((await json('iam', 'org', 'get', uid)).description, 'Our images')
    assert.match(await ok(...organizations('list')), /^NAME +DESCRIPTION\n[\s\S]*^acme +Our images$/m)
    assert.match(await ok(...organizations('ls', '-o', 'tree')), /^acme$/m)
    assert.match(
      await ok(...organizations('list', '-o', 'csv')),
      new RegExp(`^NAME,ID,DESCRIPTION,CREATED\n[\\s\\S]*^acme,${uid},Our images,\\d{4}-\\S+T\\S+Z$`, 'm'),
    )
    assert.equal((await json(...organizations('update', 'acme', '--name', 'beta', '-d', ''))).description, '')
    await refused(2, /no changes given/, ...organizations('update', 'beta'))
    await refused(1, /an organization is named beta already/, ...organizations('create', 'beta'))
    await refused(
      2,
      /organization "acme" not found or not visible to you/,
      ...organizations('describe', 'acme'),
    )
    await refused(1, /does not exist/, ...organizations('describe', '0'.repeat(40)))
    await refused(2, /Delete the organization beta\? Confirm with --yes/, ...organizations('delete', 'beta'))
    assert.equal(await stderrOf(...organizations('delete', 'beta', '--yes')), 'deleted beta\n')
    await refused(1, /does not exist/, ...organizations('rm', uid, '--yes'))
  })

  test('folders are named by the names down to them, and a folder is never a whole organization', async () => {
    const { ok, json, refused, stderrOf, organization } = await inOrganization('two')
    const folders = (...args: string[]) => ['iam', 'folders', ...args]
    assert.equal(await stderrOf(...folders('list', 'two', '--flat')), 'no folders visible to you\n')
    const team = (await ok(...folders('create', 'team', '--parent', 'two', '-o', 'id'))).trim()
    const deep = (await ok(...folders('create', 'deep', '--parent', 'two/team', '-o', 'id'))).trim()
    assert.ok(deep.startsWith(`${team}/`) && team.startsWith(`${organization}/`))
    assert.equal(await ok(...folders('list', 'two', '-o', 'tree')), 'two\n└ team\n  └ deep\n')
    assert.equal(await ok(...folders('list', 'two/team', '-o', 'id')), `${deep}\n`)
    assert.equal(await ok(...folders('list', 'two', '-o', 'none')), '')
    assert.equal((await json(...folders('describe', 'two/team/deep'))).uid, deep)
    assert.equal((await json(...folders('update', 'two/team', '-n', 'crew'))).name, 'crew')
    await refused(1, /still contains groups/, ...folders('delete', 'two/crew', '--yes'))
    await refused(2, /two is an organization, not a folder/, ...folders('delete', 'two', '--yes'))
    await refused(
      2,
      new RegExp(`${organization} is an organization`),
      ...folders('rm', organization, '--yes'),
    )
    await refused(2, /is a folder, not an organization/, 'iam', 'organizations', 'delete', team, '--yes')
    await refused(2, /folder "team" not found .*, such as my-org\/team/, ...folders('describe', 'team'))
    await refused(2, /folder "two\/nope" not found or not visible to you/, ...folders('describe', 'two/nope'))
    assert.equal(await stderrOf(...folders('delete', deep, '--yes')), 'deleted two/crew/deep\n')
  })

  test('identities are made for each kind of token', async () => {
    const { cli, ok, json, refused, stderrOf } = await inOrganization('three')
    const create = (...args: string[]) => json('iam', 'identities', 'create', ...args, '--parent', 'three')
    const token = await create(
      ...[
        'token',
        'deployer',
        '--identity-issuer',
        'https://issuer.example.com',
        '--subject-pattern',
        'team-.+',
      ],
      ...['--claim-audience', 'berth', '--claim', 'env:prod,tier:1', '--claim-pattern', 'ref:refs/.+'],
      ...['--role', 'viewer', '--role', 'registry.push', '-d', 'deploys'],
    )
    assert.deepEqual(token.claimMatch, {
      issuer: 'https://issuer.example.com',
      subjectPattern: 'team-.+',
      audience: 'berth',
      claims: { env: 'prod', tier: '1' },
      claimPatterns: { ref: 'refs/.+' },
    })
    const github = await create('github', 'ci', '--github-repo', 'acme/app.js', '--github-audience', 'x')
    assert.equal(github.claimMatch.subjectPattern, String.raw`repo:acme/app\.js:ref:refs/(heads|tags)/.+`)
    assert.equal(github.claimMatch.audience, 'x')
    const main = await create(
      'github',
      'main',
      '--github-repo',
      'acme/app',
      '--github-ref',
      'refs/heads/main',
    )
    assert.equal(main.claimMatch.subject, 'repo:acme/app:ref:refs/heads/main')
    const bare = [
      'iam',
      'identities',
      'create',
      'github',
      'x',
      '--github-repo',
      'acme/app',
      '--github-ref',
      'main',
    ]
    await refused(2, /full ref such as refs\/heads\/main/, ...bare, '--parent', 'three')
    const gitlab = await create(
      ...[
        'gitlab',
        'tags',
        '--project-path',
        'acme/app',
        '--ref-type',
        'tag',
        '--gitlab-url',
        'https://git.example.com/',
      ],
    )
    assert.equal(gitlab.claimMatch.issuer, 'https://git.example.com')
    assert.equal(gitlab.claimMatch.subjectPattern, 'project_path:acme/app:ref_type:tag:ref:.+')
    const account = ['--aws-account-id', '123456789012']
    const role = await create(
      'aws-role',
      'build',
      ...account,
      '--aws-role-name',
      'b+',
      '--aws-role-id',
      'AROAEXAMPLEID',
    )
    assert.equal(role.awsIdentity.arnPattern, String.raw`arn:aws:sts::123456789012:assumed-role/b\+/(.+)`)
    const user = await create(
      'aws-user',
      'person',
      ...account,
      '--aws-user-name',
      'ada',
      '--aws-user-id',
      'AIDAEXAMPLEID',
    )
    assert.equal(user.awsIdentity.arn, 'arn:aws:iam::123456789012:user/ada')

    const jwks = join(cli.home, 'keys.json')
    const { publicKey } = await generateKeyPair('ES256')
    writeFileSync(
      jwks,
      JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }] }),
    )
    const until = new Date(Date.now() + 10 * DAY_MS).toISOString().slice(0, 10)
    const fixed = ['token', 'robot', '--identity-issuer', 'https://robots.example.com', '--issuer-keys', jwks]
    const robot = await create(...fixed, '--subject', 'r1', '--expiration', until)
    assert.equal(Date.parse(robot.staticKeys.expirationTime), Date.parse(until))
    await refused(2, /needs --identity-issuer and --subject/, 'iam', 'ids', 'create', ...fixed)

    const file = join(cli.home, 'identity.yaml')
    writeFileSync(file, 'claimMatch:\n  issuer: https://file.example.com\n  subject: me\n')
    assert.equal((await create('token', 'written', '-f', file)).claimMatch.subject, 'me')

    assert.match(
      await ok('iam', 'identities', 'list', '--parent', 'three', '--type', 'aws', '-o', 'csv'),
      /^NAME,ID,GROUP,TYPE,ROLES,ISSUER,SUBJECT,AUDIENCE,CLAIMS,EXPIRES,LAST SEEN,DESCRIPTION,CREATED\nbuild,\S+,three,aws,[\s\S]*\nperson,\S+,three,aws,.*\n$/,
    )
    const listed = await ok('iam', 'identities', 'list', '--name', 'deployer')
    assert.match(listed, /^NAME +GROUP +TYPE +ROLES +EXPIRES +LAST SEEN\n/)
    assert.match(listed, /three: (viewer|registry\.push), three: /)
    assert.match(
      await ok('iam', 'identities', 'describe', 'three/deployer'),
      /^SUBJECT +team-\.\+\nAUDIENCE +berth\nCLAIMS +env:prod, tier:1, ref:refs\/\.\+\nLAST SEEN +never\n/m,
    )
    assert.equal(parse(await ok('iam', 'id', 'get', 'robot', '-o', 'yaml')).staticKeys.subject, 'r1')
    const changed = await json(
      'iam',
      'identities',
      'update',
      'main',
      '--subject',
      'repo:x/y:ref:z',
      '-n',
      'release',
    )
    assert.deepEqual([changed.name, changed.claimMatch.subject], ['release', 'repo:x/y:ref:z'])
    assert.equal(
      await stderrOf('iam', 'identities', 'delete', 'deployer', '--yes'),
      'deleted three/deployer\n',
    )
    assert.doesNotMatch(await ok('iam', 'role-bindings', 'list', '-o', 'csv'), /deployer/)
  })

  test('what has expired is listed and deleted together', async () => {
    const old = await startTestBerth(sqlite)
    cleanup.after(() => old.stop())
    old.advance(-3 * DAY_MS)
    const token = await old.tokenOf(old.owner)
    const { publicKey } = await generateKeyPair('ES256')
    const issuerKeys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }] })
    const keysUntil = (ms: number) => ({
      staticKeys: {
        ...{ issuer: 'https://robots.example.com', subject: 'r', issuerKeys },
        expirationTime: new Date(Date.now() + ms).toISOString(),
      },
    })
    const there = { url: old.url, token }
    await createIdentity(there, old.organization, keysUntil(-DAY_MS), 'gone')
    await createIdentity(there, old.organization, keysUntil(DAY_MS), 'good')
    const roleUid = await createRole(there, old.organization, ['groups.list'])
    for (const ttl of ['3600s', '604800s'])
      await createResource(there, `/iam/v2beta1/groupInvites/${old.organization}`, { roleUid, ttl })
    const { ok, stderrOf, refused } = using(commandLine(cleanup, old.url, { BERTH_TOKEN: token }))
    const expired = ['iam', 'identities', 'list', '--expired', '-o', 'csv']
    assert.match(await ok(...expired), /^NAME.*\ngone,\S+,default,static,.*\n$/)
    await refused(
      2,
      /Delete the expired identity: gone\? Confirm with --yes/,
      'iam',
      'ids',
      'delete',
      '--expired',
    )
    const all = ['delete', '--expired', '--yes']
    assert.equal(await stderrOf('iam', 'identities', ...all), 'deleted the expired identity\n')
    assert.equal(await stderrOf('iam', 'identities', ...all), 'no expired identities\n')
    assert.equal((await ok('iam', 'invites', 'list', '--expired', '-o', 'id')).split('\n').length, 2)
    assert.equal(await stderrOf('iam', 'invites', ...all), 'revoked the invite\n')
    assert.equal((await ok('iam', 'invites', 'list', '-o', 'id')).split('\n').length, 2)
  })

  test('roles are made of capabilities, and those of every installation stay as they are', async () => {
    const { ok, json, refused, stderrOf } = await inOrganization('four')
    const roles = (...args: string[]) => ['iam', 'roles', ...args]
    const tagger = await json(
      ...roles('create', 'tagger', '--capabilities', 'tag.list,tag.create', '--parent', 'four'),
    )
    assert.deepEqual(tagger.capabilities, ['CAP_TAG_CREATE', 'CAP_TAG_LIST'])
    const own = roles('list', '--parent', 'four')
    assert.match(
      await ok(...own),
      /^NAME +GROUP +DESCRIPTION +CAPABILITIES\ntagger +four +tag\.create, tag\.list\n$/,
    )
    assert.equal(await stderrOf(...own, '--capabilities', 'groups.list'), 'no roles visible to you\n')
    const managed = await json(...roles('list', '--managed', '--capabilities', 'tag.create,tag.delete'))
    assert.deepEqual(
      managed.items.map(({ name }: { name: string }) => name),
      ['owner', 'registry.push'],
    )
    const added = await json(
      ...roles(
        'update',
        'tagger',
        '--add-capabilities',
        'tag.delete',
        '--remove-capabilities',
        'CAP_TAG_LIST',
      ),
    )
    assert.deepEqual(added.capabilities.toSorted(), ['CAP_TAG_CREATE', 'CAP_TAG_DELETE'])
    assert.match(
      await ok(...roles('update', 'tagger', '--capabilities', 'tag.list')),
      /^CAPABILITIES +tag\.list$/m,
    )
    assert.match(
      await ok(...roles('describe', 'viewer')),
      /^CAPABILITIES +groups\.list, .*actions\.list, signature_verifiers\.list$/m,
    )
    for (const change of [
      ['update', 'viewer', '-d', 'x'],
      ['delete', 'viewer', '--yes'],
    ])
      await refused(2, /viewer is a managed role, which cannot be changed/, ...roles(...change))
    await refused(2, /no changes given/, ...roles('update', 'tagger'))
    await refused(2, /--capabilities is required/, ...roles('create', 'x'))
    await refused(2, /"tag\.fly" is not a capability/, ...roles('create', 'x', '--capabilities', 'tag.fly'))
    await refused(
      2,
      /cannot be used with/,
      ...roles('update', 'tagger', '--capabilities', 'tag.list', '--add-capabilities', 'tag.list'),
    )
    assert.equal(
      await ok(
        ...roles('capabilities', 'list', '--resources', 'tag', '--actions', 'list,create', '-o', 'id'),
      ),
      'tag.create\ntag.list\n',
    )
    assert.match(
      await ok(...roles('capabilities', 'list', '--resources', 'tag')),
      /^RESOURCE +ACTION\ntag +create\n/,
    )
    assert.equal(await stderrOf(...roles('delete', 'four/tagger', '--yes')), 'deleted four/tagger\n')
  })

  test('a role is granted, changed and revoked by names', async () => {
    const { ok, json, refused, stderrOf, organization } = await inOrganization('five')
    const bindings = (...args: string[]) => ['iam', 'role-bindings', ...args]
    await createIdentity(berth, organization, undefined, 'worker')
    await createRole(berth, organization, ['groups.list'], 'looker')
    const made = await ok(
      ...bindings('create', '--identity', 'five/worker', '--role', 'looker', '--parent', 'five'),
    )
    assert.match(made, /^IDENTITY +worker\nROLE +looker\nGROUP +five\nID +\S+\n/)
    const [uid = ''] = /\S+\/\S+/.exec(made) ?? []
    assert.match(
      await ok(...bindings('list', '--role', 'looker')),
      /^IDENTITY +ROLE +GROUP +ACCEPTED THROUGH\nworker +looker +five *\n$/,
    )
    assert.equal(await ok(...bindings('list', '--role', 'looker', '-o', 'id')), `${uid}\n`)
    const provider = await createResource(berth, `/iam/v2beta1/identityProviders/${organization}`, {
      name: 'login',
      defaultRole: managedRole('viewer'),
      oidc: { issuer: 'https://login.example', clientId: 'berth', clientSecret: 'x' },
    })
    await berth.berth.installation.store.db.kysely
      .updateTable('role_bindings')
      .set({ accepted_through: provider.uid })
      .where('uid', '=', uid)
      .execute()
    assert.match(await ok(...bindings('list', '--role', 'looker')), / +five +login *\n$/)
    await ok('iam', 'identity-providers', 'delete', 'five/login', '--yes')
    assert.match(
      await ok(...bindings('list', '--role', 'looker')),
      new RegExp(` +five +${provider.uid} *\n$`),
    )
    assert.equal(
      await ok(...bindings('list', '--identity', 'five/worker', '-o', 'tree')),
      'worker: looker in five\n',
    )
    const changed = await json(...bindings('update', uid, '--role', 'viewer'))
    assert.equal((await json('iam', 'roles', 'describe', 'viewer')).uid, changed.roleUid)
    await refused(2, /no changes given: specify --identity or --role/, ...bindings('update', uid))
    await refused(
      2,
      /"nonsense" is not a uid; list them with berth iam role-bindings list/,
      ...bindings('delete', 'nonsense', '--yes'),
    )
    await refused(2, /Revoke viewer in five from worker\? Confirm with --yes/, ...bindings('delete', uid))
    assert.equal(await stderrOf(...bindings('delete', uid, '--yes')), 'revoked viewer in five from worker\n')
  })

  test('invites are created with a link that is shown once, listed and revoked', async () => {
    const { cli, ok, json, refused, stderrOf } = await inOrganization('six')
    const invites = (...args: string[]) => ['iam', 'invites', ...args]
    const { stdout, stderr } = await cli.run(invites('create', 'six', '--role', 'editor', '--single-use'))
    assert.match(
      stdout,
      /^ROLE +editor\nGROUP +six\nEXPIRATION +\S+ \S+Z \(in 7 days\)\nKEYID +\S+\nSINGLE USE +yes\n/,
    )
    assert.match(
      stderr,
      /not shown again\):\n\n {2}http\S+\/invite#\S{100,}\n\nSend the link to the user\. .*\nIn a terminal: berth auth login --invite-code CODE/,
    )
    const made = await json(
      ...invites('create', 'six', '--role', 'viewer', '--email', 'bob@example.com', '--ttl', '1d12h'),
    )
    assert.ok(made.code)
    assert.equal(Math.round((Date.parse(made.expirationTime) - Date.now()) / 3_600_000), 36)
    const list = invites('list', '--parent', 'six')
    assert.match(await ok(...list), /^ROLE +GROUP +EMAIL +EXPIRATION +KEYID\n/)
    const uids = (await ok(...list, '-o', 'id')).trim().split('\n')
    assert.equal(uids.length, 2)
    assert.doesNotMatch(await ok(...list, '-o', 'yaml'), /code: [^"]/)
    assert.equal(await stderrOf(...list, '--expired'), 'no invites visible to you\n')
    await refused(
      2,
      /--ttl: "soon" must be a duration/,
      ...invites('create', 'six', '--role', 'viewer', '--ttl', 'soon'),
    )
    await refused(2, /invite "x" not found or not visible to you/, ...invites('delete', 'x', '--yes'))
    assert.equal(await stderrOf(...invites('delete', ...uids, '--yes')), 'revoked 2 invites\n')
    // The owner of the installation has no email address.
    assert.match(await stderrOf(...invites('received')), /^no open invites for your verified email address\n/)
    await refused(2, /no open invites for your verified .*; accept a link or code with/, ...invites('accept'))
  })

  test('identity providers are made, changed and deleted; their secret is never shown', async () => {
    const { ok, json, refused, stderrOf } = await inOrganization('seven')
    const providers = (...args: string[]) => ['iam', 'identity-providers', ...args]
    const client = [
      '--oidc-issuer',
      'https://idp.example.com',
      '--oidc-client-id',
      'berth',
      '--oidc-client-secret',
      'hush',
    ]
    const made = await ok(
      ...providers('create', '--name', 'okta', '--parent', 'seven', ...client, '--default-role', 'viewer'),
      ...[
        '--oidc-additional-scopes',
        'email,groups',
        '--oidc-groups-claim',
        'groups',
        '--oidc-correlation-rule',
        'oid',
      ],
    )
    assert.match(
      made,
      /^ISSUER +https:\/\/idp\.example\.com\nCLIENT +berth\nSCOPES +email, groups\nGROUPS CLAIM +groups\n/m,
    )
    const { uid } = await json(...providers('describe', 'okta'))
    assert.ok(made.includes(`/oauth/callback/${uid}\n`), made)
    assert.match(made, /^REDIRECT URI +http\S+\nCALLBACK +own\n/m)
    assert.doesNotMatch(made, /hush/)
    assert.match(
      await ok(...providers('list', '--parent', 'seven')),
      /^NAME +ORGANIZATION +ISSUER +CLIENT\nokta +seven +\S+ +berth\n$/,
    )
    assert.equal(
      await ok(...providers('list', '--parent', 'seven', '-o', 'tree')),
      'okta https://idp.example.com\n',
    )
    const changed = await json(
      ...providers('update', 'okta', '--oidc-pkce-enabled', 'true', '--default-role', 'editor', '-d', 'x'),
    )
    assert.deepEqual(
      [changed.oidc.pkceEnabled, changed.oidc.issuer, changed.description],
      [true, 'https://idp.example.com', 'x'],
    )
    assert.equal(
      (await json(...providers('describe', 'seven/okta'))).oidc.correlationRule,
      'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID',
    )

    const mappings = (...args: string[]) => ['iam', 'group-mappings', ...args]
    const group = ['--provider', 'okta', '--external-group', 'platform engineers', '--role', 'editor']
    const mapping = await json(...mappings('create', ...group))
    assert.deepEqual([mapping.identityProviderUid, mapping.externalGroupId], [uid, 'platform engineers'])
    assert.equal(
      await ok(...mappings('list', '--provider', 'okta')),
      'EXTERNAL GROUP      ROLE    ORGANIZATION\nplatform engineers  editor  seven\n',
    )
    await refused(2, /--external-group is required/, ...mappings('create', '--provider', 'okta'))
    await refused(2, /"x" is not a uid; list them with/, ...mappings('describe', 'x'))
    await ok(...mappings('delete', mapping.uid, '--yes'))
    assert.deepEqual((await json(...mappings('list', '--parent', 'seven'))).items, [])
    assert.equal((await json(...providers('update', 'okta', '--callback', 'own'))).callback, 'CALLBACK_OWN')
    await refused(2, /--callback/, ...providers('update', 'okta', '--callback', 'shared'))
    await refused(
      2,
      /--oidc-client-id is required/,
      ...providers('create', '--name', 'x', '--oidc-issuer', 'https://x.example.com'),
    )
    await refused(
      2,
      /Allowed choices are true, false/,
      ...providers('update', 'okta', '--oidc-pkce-enabled', 'yes'),
    )
    await refused(2, /no changes given/, ...providers('update', 'okta'))
    assert.match(await stderrOf(...providers('delete', 'okta', '--yes')), /^deleted seven\/okta\n$/)
    assert.equal(
      await stderrOf(...providers('list', '--parent', 'seven')),
      'no identity providers visible to you\n',
    )
  })

  test('accounts at clouds are set one by one, and the last takes the association along', async () => {
    const { cli, ok, json, refused, stderrOf } = await inOrganization('eight')
    const accounts = (...args: string[]) => ['iam', 'account-associations', ...args]
    await refused(1, /eight has no cloud accounts; link one/, ...accounts('describe', 'eight'))
    await refused(2, /--account is required/, ...accounts('set', 'aws', 'eight'))
    await ok(...accounts('set', 'aws', 'eight', '--account', '123456789012', '-n', 'clouds'))
    await ok(...accounts('set', 'gcp', 'eight', '--project-id', 'acme', '--project-number', '123456789'))
    const tenant = ['--tenant-id', '00000000-0000-0000-0000-000000000001']
    const clients = ['--client-ids', 'ingester=11111111-1111-1111-1111-111111111111']
    assert.match(
      await ok(...accounts('set', 'azure', 'eight', ...tenant, ...clients)),
      /^GROUP +eight\nNAME +clouds\nID +\S+\nAWS +123456789012\nGCP +acme\nGCP NUMBER +123456789\nAZURE +0\S+1\nAZURE CLIENTS +ingester=\S+\nCREATED +.*\n$/,
    )
    await refused(
      2,
      /must be COMPONENT=ID/,
      ...accounts('set', 'azure', 'eight', ...tenant, '--client-ids', 'x'),
    )
    assert.equal(
      await stderrOf(...accounts('unset', 'gcp', 'eight', '--yes')),
      'unlinked the Google account from eight\n',
    )
    await refused(1, /eight has no Google account/, ...accounts('unset', 'gcp', 'eight', '--yes'))
    const checked = await cli.run(accounts('check', 'gcp', 'eight'))
    assert.equal(checked.code, 1)
    assert.match(
      checked.stdout,
      /^STATUS +not_ready\nREASON +not configured\nMESSAGE +.*names no Google project\n$/,
    )
    assert.equal((await json(...accounts('describe', 'eight'))).google, undefined)
    for (const cloud of ['aws', 'azure']) await stderrOf(...accounts('unset', cloud, 'eight', '--yes'))
    await refused(1, /eight has no cloud accounts/, ...accounts('describe', 'eight'))
  })

  test('repos and tags', async () => {
    const { ok, json, refused, stderrOf, organization } = await inOrganization('nine')
    const repos = (...args: string[]) => ['images', 'repos', ...args]
    assert.equal(await stderrOf(...repos('list', '--parent', 'nine')), 'no repos visible to you\n')
    const nginx = await json(
      ...repos(
        'create',
        'nginx',
        '--parent',
        'nine',
        '-d',
        'The web server',
        '--tier',
        'base',
        '--bundles',
        'base,featured',
      ),
    )
    assert.deepEqual([nginx.catalogTier, nginx.bundles], ['CATALOG_TIER_BASE', ['base', 'featured']])
    const copy = await json(...repos('create', 'copy', '--parent', 'nine', '--source', nginx.uid))
    assert.equal(copy.sync_config.source, nginx.uid)
    assert.match(
      await ok(...repos('list', '--parent', 'nine')),
      /^REPO +TIER +BUNDLES +DESCRIPTION\nnine\/copy +base +.*\nnine\/nginx +base +base, featured +The web server\n$/,
    )
    assert.match(await ok('image', 'repo', 'ls', '--repo', 'nine/nginx', '-o', 'tree'), /^nine\/nginx\n$/)
    assert.match(
      await ok(...repos('describe', 'nine/nginx')),
      /^TIER +base\nBUNDLES +base, featured\nDESCRIPTION +The web server\n/m,
    )
    assert.equal((await json(...repos('update', 'nginx', '--tier', 'fips', '-n', 'web'))).name, 'web')
    await refused(2, /Allowed choices are application, base,/, ...repos('update', 'web', '--tier', 'gold'))
    await refused(
      2,
      /--source must be the uid of a repo/,
      ...repos('create', 'x', '--source', 'web', '--parent', 'nine'),
    )
    await refused(2, /no changes given/, ...repos('update', 'web'))

    const digest = `sha256:${'ab'.repeat(32)}`
    for (const name of ['1.27', 'latest', '1.27-20260101', '1.27.3-r1'])
      await createResource(berth, `/registry/v2beta1/tags/${nginx.uid}`, { name, digest })
    const names = async (...args: string[]) =>
      (await json('images', ...args)).items
        .map(({ repo, name }: Record<string, string>) => `${repo}:${name}`)
        .toSorted()
    assert.deepEqual(await names('list', '--parent', 'nine'), ['nine/web:1.27', 'nine/web:latest'])
    const every = ['nine/web:1.27', 'nine/web:1.27-20260101', 'nine/web:1.27.3-r1', 'nine/web:latest']
    assert.deepEqual(await names('tags', 'list', '--repo', 'web', '--all'), every)
    assert.deepEqual(
      await names(
        'tags',
        'list',
        '--repo',
        'nine/web',
        '--show-dates',
        '--show-epochs',
        '--updated-within',
        '1h',
      ),
      every,
    )
    assert.match(
      await ok('images', 'list', '--parent', organization),
      /^REPO +TAG +DIGEST +UPDATED\nnine\/web +1\.27 +sha256:\w{64} +\S+ \S+Z\n/,
    )
    assert.equal(await stderrOf('images', 'list', '--repo', 'copy'), 'no tags visible to you\n')
    for (const reference of ['web:1.27', 'nine/web:1.27-20260101', 'web', `${nginx.uid}:latest`])
      assert.equal(await ok('images', 'tags', 'resolve', reference, '-o', 'id'), `${digest}\n`, reference)
    assert.match(
      await ok('images', 'tags', 'resolve', 'web:1.27', '--parent', 'nine'),
      /^REPO +nine\/web\nTAG +1\.27\nDIGEST +sha256:/,
    )
    await refused(2, /tag '9' not found in nine\/web/, 'images', 'tags', 'resolve', 'web:9')
    await refused(2, /must be REPO:TAG/, 'images', 'tags', 'resolve', 'web:')
    await refused(2, /must be a duration/, 'images', 'list', '--updated-within', 'lately')

    assert.equal(await stderrOf(...repos('delete', 'copy', '--yes')), 'deleted nine/copy\n')
    for (const gone of ['copy', 'nine/copy', copy.uid])
      assert.equal(
        await stderrOf(...repos('delete', gone, '--yes', '--allow-missing')),
        `repo ${gone} does not exist\n`,
      )
    await refused(2, /repo "copy" not found or not visible to you/, ...repos('delete', 'copy', '--yes'))
  })

  test('lists are fetched whole, page by page', async () => {
    const { ok, json, organization } = await inOrganization('ten')
    const names = Array.from({ length: 205 }, (_, at) => `folder-${String(at).padStart(3, '0')}`)
    for (const name of names) await createGroup(berth, organization, name)
    const list = ['iam', 'folders', 'list', 'ten']
    assert.equal((await ok(...list, '-o', 'id')).trim().split('\n').length, names.length)
    const { items } = await json(...list)
    assert.deepEqual(items.map(({ name }: { name: string }) => name).toSorted(), names)
    assert.equal((await ok(...list, '--flat')).trim().split('\n').length, names.length + 1)
  })

  test('a missing option is named if there is no terminal to prompt at', async () => {
    const { refused } = await inOrganization('eleven')
    const cases: [names: RegExp, ...args: string[]][] = [
      [/^berth: NAME is required$/m, 'iam', 'organizations', 'create'],
      [/^berth: ORGANIZATION is required$/m, 'iam', 'organizations', 'delete'],
      [/^berth: FOLDER is required$/m, 'iam', 'folders', 'update'],
      [/^berth: --parent is required$/m, 'iam', 'folders', 'create', 'x'],
      [/^berth: IDENTITY is required$/m, 'iam', 'identities', 'delete', '--yes'],
      [/^berth: no tokens specified: give --identity-issuer/, 'iam', 'identities', 'create', 'token', 'x'],
      [
        /^berth: --issuer is the token service of berth; .* --identity-issuer$/m,
        ...['iam', 'identities', 'create', 'token', 'x', '--issuer', 'https://ci.example', '--subject', 's'],
      ],
      [/^berth: --github-repo is required$/m, 'iam', 'identities', 'create', 'github', 'x'],
      [/^berth: --project-path is required$/m, 'iam', 'identities', 'create', 'gitlab', 'x'],
      [
        /^berth: --aws-role-id is required$/m,
        'iam',
        'identities',
        'create',
        'aws-role',
        'x',
        '--aws-account-id',
        '1',
        '--aws-role-name',
        'y',
      ],
      [/^berth: ROLE is required$/m, 'iam', 'roles', 'describe'],
      [/^berth: --identity is required$/m, 'iam', 'role-bindings', 'create', '--parent', 'eleven'],
      [/^berth: BINDING is required$/m, 'iam', 'role-bindings', 'delete'],
      [/^berth: --role is required$/m, 'iam', 'invites', 'create', 'eleven'],
      [/^berth: INVITE is required$/m, 'iam', 'invites', 'delete'],
      [/^berth: PROVIDER is required$/m, 'iam', 'identity-providers', 'describe'],
      [/^berth: LOCATION is required$/m, 'iam', 'account-associations', 'describe'],
      [/^berth: REPO is required$/m, 'images', 'repos', 'delete'],
      [/^berth: missing required argument 'REF'$/m, 'images', 'tags', 'resolve'],
      [
        /^berth: option '--ref-type <type>' argument 'twig' is invalid\. Allowed choices are branch, tag\.$/m,
        'iam',
        'identities',
        'create',
        'gitlab',
        'x',
        '--ref-type',
        'twig',
      ],
      [
        /^berth: --github-repo must be OWNER\/REPO$/m,
        'iam',
        'identities',
        'create',
        'github',
        'x',
        '--github-repo',
        'y',
      ],
      [
        /^berth: --claim: "x" must be NAME:VALUE$/m,
        'iam',
        'identities',
        'create',
        'token',
        'x',
        '--claim',
        'x',
      ],
      [/^berth: --file: ENOENT/m, 'iam', 'identities', 'create', 'token', 'x', '-f', '/nowhere'],
    ]
    for (const [names, ...args] of cases) await refused(2, names, ...args)
  })

  test('an ambiguous name is reported with its uids, and a path resolves it', async () => {
    const { json, refused, organization } = await inOrganization('twelve')
    const team = await createGroup(berth, organization, 'team')
    const one = await createIdentity(berth, organization, undefined, 'twin')
    const other = await createIdentity(berth, team, undefined, 'twin')
    const describe = ['iam', 'identities', 'describe']
    await refused(
      2,
      new RegExp(`"twin" matches several: (${one}, ${other}|${other}, ${one}); use the uid`),
      ...describe,
      'twin',
    )
    assert.equal((await json(...describe, 'twelve/twin')).uid, one)
    assert.equal((await json(...describe, 'twelve/team/twin')).uid, other)
    assert.equal((await json(...describe, `${team}/twin`)).uid, other)
  })

  test('a caller without permission learns what is missing, and how to list their roles', async () => {
    const organization = await createOrganization(berth, 'thirteen')
    const viewer = await createIdentity(berth, organization, undefined, 'reader')
    await bindRole(berth, organization, viewer, 'viewer')
    const { ok, refused } = using(
      commandLine(cleanup, berth.url, { BERTH_TOKEN: await berth.tokenOf(viewer) }),
    )
    assert.match(await ok('iam', 'organizations', 'list', '-o', 'csv'), /\nthirteen,/)
    await refused(
      1,
      /\nshow your roles: berth auth status\n$/,
      'iam',
      'folders',
      'create',
      'x',
      '--parent',
      'thirteen',
    )
    await refused(
      2,
      /organization "twelve" not found or not visible to you/,
      'iam',
      'organizations',
      'describe',
      'twelve',
    )
  })

  describe('at a terminal', { skip: withoutTerminal }, () => {
    test('a missing option is picked from a list, by a part of its name', async () => {
      const { cli, organization } = await inOrganization('fourteen')
      const folder = await createGroup(berth, organization, 'team')
      await createIdentity(berth, folder, undefined, 'picked')
      const { code, text } = await runInTerminal(
        cli,
        ['iam', 'role-bindings', 'create'],
        [
          [/Which organization or folder\?/, 'fourteen/'],
          [/❯ fourteen\/team\r?\n/, keys.enter],
          [/Which identity\?/, 'picke'],
          [/❯ picked\r?\n/, keys.enter],
          // What begins with it comes before what has it elsewhere, as actions.viewer has.
          [/Which role\?/, 'view'],
          [/❯ viewer\r?\n/, keys.enter],
        ],
      )
      assert.equal(code, 0, text)
      assert.match(text, /✔ Which organization or folder\? fourteen\/team\n/)
      assert.match(text, /IDENTITY +picked\nROLE +viewer\nGROUP +fourteen\/team\n/)
    })

    test('deleting asks, and nothing happens without a yes', async () => {
      const { cli, ok } = await inOrganization('fifteen')
      const remove = ['iam', 'organizations', 'delete', 'fifteen']
      for (const answer of [`n${keys.enter}`, keys.enter, keys.stop]) {
        const no = await runInTerminal(cli, remove, [[/Delete the organization fifteen\? \(y\/N\)/, answer]])
        assert.deepEqual([no.code, /berth: canceled; nothing was changed/.test(no.text)], [2, true], no.text)
      }
      assert.match(await ok('iam', 'organizations', 'describe', 'fifteen', '-o', 'id'), UID)
      const yes = await runInTerminal(cli, remove, [[/\(y\/N\)/, `y${keys.enter}`]])
      assert.match(yes.text, /deleted fifteen\n$/)
    })

    test('names are prompted for; tables fit, with bold headers, and NO_COLOR is respected', async () => {
      const { cli, organization } = await inOrganization('sixteen')
      const made = await runInTerminal(
        cli,
        ['iam', 'folders', 'create', '--parent', 'sixteen'],
        [[/Name of the folder\?/, `typed${keys.enter}`]],
      )
      assert.match(made.text, /\nPATH +sixteen\/typed\n/)
      const long =
        'a description of many words that does not fit beside the others on a line of a hundred columns'
      await createResource(berth, `/iam/v2beta1/groups/${organization}`, { name: 'wordy', description: long })
      const list = ['iam', 'folders', 'list', 'sixteen', '--flat']
      const table = await runInTerminal(cli, list)
      assert.ok(table.raw.includes('\u001b[1mPATH'))
      for (const line of table.text.split('\n')) assert.ok(line.length <= 100, line)
      assert.match(table.text, /wordy +a description of.*…\n/)
      const plain = await runInTerminal({ env: { ...cli.env, NO_COLOR: '1' } }, [...list, '-o', 'wide'])
      assert.ok(!plain.raw.includes('\u001b['))
      assert.ok(plain.text.replaceAll(/\n +/g, ' ').includes(long), plain.text)
    })
  })
})
