import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccessService, MemberKind } from '@berth/contract/gen/berth/iam/v1/access_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { userUid } from '@berth/server/iam/identities/user-uid.ts'
import { organizationSettings } from '@berth/server/operator/organization-settings.ts'
import {
  type Api,
  apiOf,
  assertError,
  claimMatch,
  invalidFieldError,
  managedRole,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'

/** Who can do what in a group, and why. */

const CREATE_REPO = 'chainguard.platform.registry.v2beta1.ReposService/CreateRepo'
const DAY_MS = 24 * 60 * 60 * 1000

interface MemberJson {
  readonly uid: string
  readonly name: string
  readonly kind: string
  readonly role: { readonly name: string }
  readonly lastSeenTime?: string
  readonly sources: readonly {
    readonly kind: string
    readonly group: { readonly uid: string; readonly name: string }
    readonly externalGroup: string
    readonly identityProvider?: { readonly uid: string }
  }[]
}

onEveryDatabase('access', (cast) => {
  /** acme/team/images, with a repo, a workload and a user. */
  const newTree = async () => {
    const organization = await cast().organization()
    const { uid: root, name, owner } = organization
    const create = async (path: string, body: object): Promise<string> =>
      (await owner.api.create(path, body)).uid
    const team = await create(`iam/groups/${root}`, { name: 'team' })
    const images = await create(`iam/groups/${team}`, { name: 'images' })
    const repo = (await owner.api.create(`registry/repos/${images}`, { name: 'web' })).uid as string
    const workload = await create(`iam/identities/${team}`, { name: newName('ci'), claimMatch })
    const user = await newUser('grace', 'grace@example.com')
    const bind = async (group: string, identityUid: string, role: string): Promise<string> =>
      create(`iam/roleBindings/${group}`, {
        identityUid,
        roleUid: role.includes('/') ? role : managedRole(role),
      })
    const customRole = (group: string, capabilities: readonly string[], title = newName('role')) =>
      create(`iam/roles/${group}`, { name: title, capabilities })
    return { organization, root, name, team, images, repo, workload, user, bind, customRole, create }
  }

  /** A user who has signed in before, as the server stores them. */
  async function newUser(name: string, email: string): Promise<string> {
    const subject = newName(name)
    const issuer = 'https://people.example'
    const { db, clock } = cast().berth.berth.installation.store
    const uid = userUid(issuer, subject, 0)
    const row = {
      root: uid,
      uid,
      parent: '',
      name,
      description: '',
      created_ms: clock(),
      updated_ms: clock(),
      email,
      email_unverified: '',
      company: '',
      relationship: 0,
      relationship_data: new Uint8Array(),
      issuer,
      subject,
      registered_through: '',
      last_seen_ms: clock(),
      keys_expire_ms: 0,
    }
    await db.kysely.insertInto('identities').values(row).execute()
    return uid
  }

  const list = async (api: Api, uid: string, query: Record<string, string> = {}) => {
    const { status, body, text } = await api.get(`iam/access/${uid}:findMembers`, query)
    assert.equal(status, 200, text)
    return body as {
      members: readonly MemberJson[]
      hidden: readonly { readonly role: string; readonly group: object }[]
      nextPageToken: string
      totalCount: string
      suspended: boolean
    }
  }
  const short = ({ members }: { readonly members: readonly MemberJson[] }) =>
    members.map(({ name, role, sources }) =>
      [name, role.name, ...sources.map(({ kind, group }) => `${kind} ${group.name}`)].join(' | '),
    )
  const whoCan = async (api: Api, uid: string, capability: string) => {
    const { status, body, text } = await api.get(`iam/access/${uid}:whoCan`, { capability })
    assert.equal(status, 200, text)
    return body
  }
  const explain = async (api: Api, uid: string, query: Record<string, string>) => {
    const { status, body, text } = await api.get(`iam/access/${uid}:explain`, query)
    assert.equal(status, 200, text)
    return body
  }

  test('lists users and workloads with each role once, and with all places that it comes from', async () => {
    const { organization, root, name, team, images, workload, user, bind } = await newTree()
    const { api } = organization.owner
    await bind(root, user, 'viewer')
    await bind(team, user, 'viewer')
    await bind(images, user, 'editor')
    await bind(images, workload, 'registry.push')
    const whole = await list(api, images)
    assert.equal(whole.totalCount, '5')
    assert.deepEqual(whole.hidden, [])
    const rows = short(whole)
    assert.equal(rows.length, 5)
    assert.ok(rows.includes(`grace | viewer | KIND_INHERITED ${name} | KIND_INHERITED team`), rows.join('\n'))
    assert.ok(rows.includes('grace | editor | KIND_DIRECT images'))
    assert.deepEqual(
      short(await list(api, images, { kind: 'MEMBER_KIND_USER' }))
        .map((row) => row.split(' | ')[1])
        .sort(),
      ['editor', 'owner', 'viewer'],
    )
    assert.deepEqual(short(await list(api, images, { query: 'GRACE@' })).length, 2)
    assert.deepEqual(short(await list(api, images, { direct_only: 'true' })).length, 2)
    assert.deepEqual(short(await list(api, images, { role: managedRole('editor') })).length, 1)
    assert.deepEqual(short(await list(api, images, { identity: workload })).length, 1)
    assert.deepEqual(short(await list(api, images, { query: 'nobody_%' })), [])
    const grpc = await cast().grpc.call(
      AccessService.method.findMembers,
      { uid: images, kind: MemberKind.WORKLOAD, query: 'ci-' },
      { token: api.token },
    )
    assert.deepEqual(
      grpc.members.map(({ uid }) => uid),
      [workload],
    )
  })

  test('a repo has the members of the groups above it', async () => {
    const { organization, images, repo, user, bind } = await newTree()
    await bind(images, user, 'viewer')
    const rows = short(await list(organization.owner.api, repo, { query: 'grace' }))
    assert.deepEqual(rows, ['grace | viewer | KIND_INHERITED images'])
  })

  test('pages have each member once; a token continues only its own list', async () => {
    const { organization, root, bind, create } = await newTree()
    const { api } = organization.owner
    for (let n = 0; n < 5; n++)
      await bind(root, await create(`iam/identities/${root}`, { name: `wk${n % 2}`, claimMatch }), 'viewer')
    const seen: MemberJson[] = []
    let pageToken = ''
    do {
      const page = await list(api, root, { page_size: '2', page_token: pageToken, query: 'wk' })
      assert.equal(page.totalCount, '5')
      seen.push(...page.members)
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    assert.equal(new Set(seen.map(({ uid }) => uid)).size, 5)
    assert.deepEqual(
      seen.map(({ name }) => name),
      ['wk0', 'wk0', 'wk0', 'wk1', 'wk1'],
    )
    const { nextPageToken: token } = await list(api, root, { page_size: '2' })
    assertError(
      await api.get(`iam/access/${root}:findMembers`, { page_token: token, query: 'wk' }),
      invalidFieldError('page_token'),
    )
  })

  test('R35: roles in ancestors that the caller cannot read are counts without identities', async () => {
    const { organization, root, name, team, images, user, workload, bind, customRole } = await newTree()
    const reader = await customRole(
      root,
      ['CAP_IAM_ROLE_BINDINGS_LIST', 'CAP_IAM_GROUPS_LIST'],
      newName('reader'),
    )
    await bind(root, user, 'owner')
    await bind(team, workload, 'viewer')
    const { api } = await organization.member(reader, images)
    const page = await list(api, images)
    assert.equal(page.totalCount, '1')
    assert.deepEqual(page.hidden, [
      {
        group: { uid: root, name, description: '' },
        role: 'owner',
        // The creator of the organization, too.
        users: 2,
        workloads: 1,
        externalGroups: 0,
      },
      {
        group: { uid: team, name: 'team', description: '' },
        role: 'viewer',
        users: 0,
        workloads: 1,
        externalGroups: 0,
      },
    ])
    assert.ok(!JSON.stringify(page).includes(user) && !JSON.stringify(page).includes('grace'))
    const { hidden } = await whoCan(api, images, 'repo.create')
    assert.deepEqual(
      hidden.map(({ role }: { role: string }) => role),
      ['owner'],
    )

    // The same for users with a role, users without one, and users who do not exist.
    const unbound = await newUser('heidi', 'heidi@example.com')
    for (const identity of [user, unbound, '0'.repeat(40), workload]) {
      const body = await explain(api, images, { identity, capability: 'repo.create' })
      assert.equal(body.outcome, 'OUTCOME_UNKNOWN')
      assert.deepEqual(body.notes, ['NOTE_ANCESTORS_HIDDEN'])
      assert.deepEqual([body.identity.name, body.identity.email, body.roles, body.signIns], ['', '', [], []])
    }
    for (const path of ['findMembers', 'countRoleUses', 'findCandidates'])
      assertError(await api.get(`iam/access/${team}:${path}`), permissionDeniedError)
    // Names need the permission to read the group.
    const blind = await customRole(root, ['CAP_IAM_ROLE_BINDINGS_LIST'], newName('blind'))
    const { api: other } = await organization.member(blind, images)
    const without = await list(other, images)
    assert.ok(!JSON.stringify(without).includes(name) && !JSON.stringify(without).includes('"team"'))
  })

  test('explains with the decision of the pipeline, which then decides the same', async () => {
    const { organization, root, team, images, bind, customRole } = await newTree()
    const owner = organization.owner.api
    const lister = await customRole(root, ['CAP_REPO_LIST'], newName('lister'))
    for (const [role, group, outcome] of [
      ['editor', root, 'OUTCOME_ALLOWED'],
      ['editor', images, 'OUTCOME_ALLOWED'],
      ['viewer', team, 'OUTCOME_DENIED'],
      [lister, team, 'OUTCOME_DENIED'],
    ] as const) {
      const { uid, api } = await organization.member(role, group)
      const body = await explain(owner, images, { identity: uid, method: CREATE_REPO })
      assert.equal(body.outcome, outcome)
      const reply = await api.post(`registry/repos/${images}`, { name: newName('r') })
      assert.equal(reply.status, outcome === 'OUTCOME_ALLOWED' ? 200 : 403)
      const [needed] = body.capabilities
      assert.deepEqual(
        [needed.capability, needed.held, needed.roles],
        ['repo.create', outcome === 'OUTCOME_ALLOWED', outcome === 'OUTCOME_ALLOWED' ? ['editor'] : []],
      )
      assert.deepEqual(
        body.roles.map((held: { sufficient: boolean }) => held.sufficient),
        [outcome === 'OUTCOME_ALLOWED'],
      )
      assert.equal(body.suggestedRoles.length > 0, outcome === 'OUTCOME_DENIED')
      if (role === 'viewer') assert.deepEqual(body.suggestedRoles, ['registry.push', 'editor'])
    }
    await bind(team, organization.owner.uid, 'viewer')
    const self = await explain(owner, images, {
      identity: organization.owner.uid,
      capability: 'groups.delete',
    })
    assert.deepEqual(
      self.roles
        .map((held: { role: { name: string }; sufficient: boolean }) => [held.role.name, held.sufficient])
        .sort(),
      [
        ['owner', true],
        ['viewer', false],
      ],
    )
    const operator = await explain(owner, images, {
      identity: organization.owner.uid,
      capability: 'internal',
    })
    assert.deepEqual(
      [operator.outcome, operator.notes, operator.suggestedRoles],
      ['OUTCOME_DENIED', ['NOTE_OPERATOR_ONLY'], []],
    )
    const open = await explain(owner, images, {
      identity: organization.owner.uid,
      method: 'chainguard.platform.ping.v2beta1.PingService/Ping',
    })
    assert.deepEqual([open.outcome, open.notes], ['OUTCOME_ALLOWED', ['NOTE_NO_CAPABILITY_REQUIRED']])
  })

  test('callers know all of their own roles', async () => {
    const { organization, root, images, bind } = await newTree()
    const reader = await organization.member('viewer', images)
    await bind(root, reader.uid, 'registry.push')
    const body = await explain(reader.api, images, { identity: reader.uid, capability: 'repo.create' })
    assert.equal(body.outcome, 'OUTCOME_ALLOWED')
    assert.deepEqual(body.notes, [])
  })

  test('a narrowed token shows nothing of the groups above its own, not even roles of its identity', async () => {
    const { organization, root, images, bind } = await newTree()
    const reader = await organization.member('viewer', images)
    await bind(root, reader.uid, 'registry.push')
    const narrowed = apiOf(cast().berth, await cast().berth.tokenOf(reader.uid, { scopes: [images] }))
    const body = await explain(narrowed, images, { identity: reader.uid, capability: 'repo.create' })
    assert.deepEqual([body.outcome, body.notes], ['OUTCOME_UNKNOWN', ['NOTE_ANCESTORS_HIDDEN']])
    assert.deepEqual(
      body.roles.map((held: { role: { name: string } }) => held.role.name),
      ['viewer'],
    )
  })

  test('shows nothing about the activity of an identity that the caller does not know', async () => {
    const { organization, root } = await newTree()
    const stranger = await newUser('heidi', 'heidi@example.com')
    for (const identity of [stranger, '0'.repeat(40)]) {
      const body = await explain(organization.owner.api, root, { identity, capability: 'repo.create' })
      assert.equal(body.identity.lastSeenTime, undefined)
    }
  })

  test('no role applies in a suspended organization', async () => {
    const { organization, root, images } = await newTree()
    const { admin } = cast()
    const { uid } = organization.owner
    const { installation } = cast().berth.berth
    await organizationSettings(installation, root, { status: 'suspended', limits: new Map() })
    const body = await explain(admin, images, { identity: uid, capability: 'repo.create' })
    assert.deepEqual([body.outcome, body.notes], ['OUTCOME_DENIED', ['NOTE_ORGANIZATION_SUSPENDED']])
    assert.equal(body.capabilities[0].held, false)
    const can = await whoCan(admin, images, 'repo.create')
    assert.deepEqual([can.members, can.suspended, can.totalCount], [[], true, '0'])
    assert.equal((await list(admin, images)).suspended, true)
  })

  test('a mapped group is a member, and so are the users who signed in with it', async () => {
    const { organization, root, images, user, bind } = await newTree()
    const { api } = organization.owner
    const provider = (
      await api.create(`iam/identityProviders/${root}`, {
        name: newName('idp'),
        defaultRole: managedRole('viewer'),
        oidc: { issuer: 'https://login.example.com', clientId: 'berth', clientSecret: 'x' },
      })
    ).uid as string
    const mapping = { externalGroupId: 'Engineers', roleUid: managedRole('editor'), scope: root }
    await api.create(`iam/externalGroupRoleMappings/${provider}`, mapping)
    await signIn(user, provider, 'Engineers')
    const { members } = await list(api, images, { role: managedRole('editor') })
    assert.deepEqual(
      members.map(({ uid, name, kind, sources: [source, ...more] }) => [
        uid,
        name,
        kind,
        source?.kind,
        source?.externalGroup,
        source?.identityProvider?.uid,
        more.length,
      ]),
      [
        ['', 'Engineers', 'MEMBER_KIND_EXTERNAL_GROUP', 'KIND_GROUP_MAPPING', 'Engineers', provider, 0],
        [user, 'grace', 'MEMBER_KIND_USER', 'KIND_GROUP_MAPPING', 'Engineers', provider, 0],
      ],
    )
    const body = await explain(api, images, { identity: user, capability: 'repo.create' })
    assert.equal(body.outcome, 'OUTCOME_DENIED', 'with a local account')
    assert.deepEqual(
      body.signIns.map((one: { identityProvider: { uid: string }; allowed: boolean }) => [
        one.identityProvider.uid,
        one.allowed,
      ]),
      [[provider, true]],
    )
    const uses = (await api.get(`iam/access/${root}:countRoleUses`)).body.roles
    const find = (role: string) => uses.find((use: { role: string }) => use.role === managedRole(role))
    assert.equal(find('editor').externalGroups, 1)
    assert.equal(find('viewer').identityProviders, 1)
    // Who cannot read identity providers sees how many groups there are.
    const reader = (
      await api.create(`iam/roles/${root}`, {
        name: newName('reader'),
        capabilities: ['CAP_IAM_ROLE_BINDINGS_LIST'],
      })
    ).uid as string
    const narrow = (await organization.member(reader)).api
    const { db } = cast().berth.berth.installation.store
    await bind(root, user, 'viewer')
    await db.kysely
      .updateTable('role_bindings')
      .set({ accepted_through: provider })
      .where('identity_uid', '=', user)
      .execute()
    for (const [by, allowed] of [
      [api, true],
      [narrow, false],
    ] as const) {
      const { signIns } = await explain(by, images, { identity: user, capability: 'repo.create' })
      assert.deepEqual(
        signIns.map((one: { allowed: boolean }) => one.allowed),
        [allowed],
      )
    }
    const seen = await list(narrow, root, { role: managedRole('editor') })
    assert.deepEqual([seen.members, seen.hidden.length], [[], 1])
  })

  async function signIn(identity: string, provider: string, group: string): Promise<void> {
    const { db, clock } = cast().berth.berth.installation.store
    const id = Buffer.from(newName('s')).toString('hex').slice(0, 32)
    const session = {
      id,
      kind: 'browser',
      identity_uid: identity,
      vouched_by: 'organization',
      provider_uid: provider,
      vouched_email: '',
      method: 'provider',
      client: '',
      audiences: '[]',
      secret_hash: Buffer.from(id),
      address: '',
      user_agent: '',
      created_ms: clock(),
      last_used_ms: clock(),
      expires_ms: clock() + DAY_MS,
    }
    await db.kysely.insertInto('sessions').values(session).execute()
    await db.kysely
      .insertInto('session_groups')
      .values({ session_id: id, external_group_id: group })
      .execute()
  }

  test('ADR 13: a role applies to sign-ins through another organization if it was accepted through that (explainedProvidersMax)', async () => {
    const { organization, root, user, bind } = await newTree()
    const other = await newTree()
    await bind(root, user, 'editor')
    const provider = (
      await other.organization.owner.api.create(`iam/identityProviders/${other.root}`, {
        name: newName('idp'),
        defaultRole: managedRole('viewer'),
        oidc: { issuer: 'https://login.example.com', clientId: 'berth', clientSecret: 'x' },
      })
    ).uid as string
    const { db } = cast().berth.berth.installation.store
    const { api } = organization.owner
    const ask = () => explain(api, root, { identity: user, capability: 'repo.create' })
    assert.deepEqual((await ask()).signIns, [], 'providers of others are not shown')
    await db.kysely
      .updateTable('role_bindings')
      .set({ accepted_through: provider })
      .where('identity_uid', '=', user)
      .execute()
    const body = await ask()
    assert.deepEqual([body.outcome, body.signIns[0].allowed], ['OUTCOME_ALLOWED', true])
    assert.equal(body.roles[0].sources[0].acceptedThrough.uid, provider)
  })

  test('last seen: the time of workloads, the day of users, and only for callers who can read identities', async () => {
    const { organization, root, user, workload, bind, customRole } = await newTree()
    await bind(root, user, 'viewer')
    await bind(root, workload, 'viewer')
    const times = async (api: Api) =>
      (await list(api, root, { role: managedRole('viewer') })).members.map(({ kind, lastSeenTime }) => [
        kind,
        lastSeenTime === undefined ? undefined : Date.parse(lastSeenTime) % DAY_MS === 0,
      ])
    assert.deepEqual((await times(organization.owner.api)).sort(), [
      ['MEMBER_KIND_USER', true],
      ['MEMBER_KIND_WORKLOAD', false],
    ])
    const reader = await customRole(root, ['CAP_IAM_ROLE_BINDINGS_LIST'])
    assert.deepEqual((await times((await organization.member(reader)).api)).sort(), [
      ['MEMBER_KIND_USER', undefined],
      ['MEMBER_KIND_WORKLOAD', undefined],
    ])
  })

  test('finds candidates in what the caller can read (candidatesMax)', async () => {
    const { organization, root, team, images, user, workload, bind, customRole } = await newTree()
    await bind(team, user, 'viewer')
    const outsider = await newUser('grace', 'grace@other.example')
    const { api } = organization.owner
    const find = async (by: Api, uid: string, query: string) => {
      const { status, body, text } = await by.get(`iam/access/${uid}:findCandidates`, { query })
      assert.equal(status, 200, text)
      return body.identities.map((one: { uid: string }) => one.uid)
    }
    assert.deepEqual(await find(api, images, 'Grace@EXAMPLE'), [user])
    assert.ok(!(await find(api, images, 'grace')).includes(outsider))
    assert.deepEqual(await find(api, images, 'ci-'), [workload])
    const reader = await organization.member(await customRole(root, ['CAP_IAM_ROLE_BINDINGS_LIST']), images)
    assert.deepEqual(await find(reader.api, images, 'grace'), [], 'no role where the caller can read')
    assert.deepEqual(await find(reader.api, images, 'ci-'), [], 'no permission to read identities')
    for (let n = 0; n <= limits.candidatesMax; n++)
      await organization.owner.api.create(`iam/identities/${root}`, { name: 'many', claimMatch })
    const { body } = await api.get(`iam/access/${root}:findCandidates`, { query: 'many' })
    assert.deepEqual([body.identities.length, body.more], [limits.candidatesMax, true])
  })

  test('counts what uses a role', async () => {
    const { organization, root, team, images, user, workload, bind, customRole } = await newTree()
    const { api } = organization.owner
    const role = await customRole(root, ['CAP_REPO_LIST'])
    await bind(team, user, role)
    await bind(images, user, role)
    await bind(images, workload, role)
    await api.create(`iam/groupInvites/${root}`, { roleUid: role, ttl: '600s' })
    const count = async (uid: string) =>
      (await api.get(`iam/access/${uid}:countRoleUses`)).body.roles.find(
        (use: { role: string }) => use.role === role,
      )
    const uses = { role, users: 1, workloads: 1, identityProviders: 0, externalGroups: 0 }
    assert.deepEqual(await count(root), { ...uses, roleBindings: 3, invites: 1 })
    assert.deepEqual(await count(images), { ...uses, roleBindings: 2, invites: 0 })
  })

  test('who can: managed and custom roles with the capability', async () => {
    const { organization, root, team, images, user, workload, bind, customRole } = await newTree()
    const { api } = organization.owner
    const custom = await customRole(team, ['CAP_REPO_CREATE'])
    await bind(images, user, custom)
    await bind(images, workload, 'viewer')
    const names = async (uid: string, capability: string) =>
      (await whoCan(api, uid, capability)).members
        .filter(({ kind, role }: MemberJson) => kind === 'MEMBER_KIND_WORKLOAD' || role.name !== 'owner')
        .map((one: MemberJson) => one.uid)
        .sort()
    assert.deepEqual(await names(images, 'repo.create'), [user, organization.owner.uid].sort())
    assert.deepEqual(await names(root, 'repo.create'), [organization.owner.uid])
    assert.deepEqual(await names(images, 'tag.list'), [workload, organization.owner.uid].sort())
  })

  test('each invalid field is an error, and what does not exist is not found', async () => {
    const { organization, root, workload } = await newTree()
    const { api } = organization.owner
    const get = (method: string, query: Record<string, string>) =>
      api.get(`iam/access/${root}:${method}`, query)
    for (const [method, query, field] of [
      ['findMembers', { role: 'x' }, 'role'],
      ['findMembers', { identity: 'x' }, 'identity'],
      ['findMembers', { page_size: '-1' }, 'page_size'],
      ['findMembers', { page_token: 'x' }, 'page_token'],
      ['whoCan', {}, 'capability'],
      ['whoCan', { capability: 'x' }, 'capability'],
      ['whoCan', { capability: 'repo.create', page_size: '-1' }, 'page_size'],
      ['explain', { capability: 'repo.create' }, 'identity'],
      ['explain', { capability: 'repo.create', identity: 'x' }, 'identity'],
      ['explain', { identity: workload }, 'capability'],
      ['explain', { identity: workload, capability: 'repo.create', method: CREATE_REPO }, 'capability'],
      ['explain', { identity: workload, method: 'x' }, 'method'],
    ] as const)
      assertError(await get(method, query), invalidFieldError(field))
    const missing = `${root}/0123456789abcdef`
    for (const [method, query] of [
      ['findMembers', {}],
      ['whoCan', { capability: 'repo.create' }],
      ['explain', { identity: workload, capability: 'repo.create' }],
      ['findCandidates', {}],
      ['countRoleUses', {}],
    ] as const)
      assertError(
        await api.get(`iam/access/${missing}:${method}`, query),
        notFoundError('iam.chainguard.dev/Group', missing),
      )
  })
})
