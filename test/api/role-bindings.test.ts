import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RoleBindingsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { managedRoles } from '@berth/server/iam/managed-roles.ts'
import {
  alreadyExistsError,
  assertError,
  claimMatch,
  invalidFieldError,
  managedRole,
  newName,
  notFoundError,
  type Organization,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { stableText } from '../support/api/stable-output.ts'
import { assertGolden } from '../support/golden.ts'

const TYPE = 'iam.chainguard.dev/RoleBinding'
const IDENTITY = 'iam.chainguard.dev/Identity'
const ROLE = 'iam.chainguard.dev/Role'
const GROUP = 'iam.chainguard.dev/Group'
const viewer = managedRole('viewer')
const robotIn = async ({ owner, uid }: Organization): Promise<string> =>
  (await owner.api.create(`iam/identities/${uid}`, { name: 'robot', description: 'Builds', claimMatch })).uid

onEveryDatabase('role bindings', (cast) => {
  test('create, get, list, update and delete return the exact JSON, with names', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const { api } = owner
    const group = await api.create(`iam/groups/${root}`, { name: 'team', description: 'The first' })
    const identityUid = await robotIn(organization)
    const created = await api.post(`iam/roleBindings/${group.uid}`, { identityUid, roleUid: viewer })
    assert.equal(created.status, 200, created.text)
    const { uid } = created.body
    assert.equal(uid.slice(0, -17), group.uid)
    assert.deepEqual((await api.get(`iam/roleBindings/${uid}`)).body, created.body)
    const listed = await api.get('iam/roleBindings', { 'uidp.descendants_of': group.uid })
    assert.deepEqual(listed.body.roleBindings, [created.body])
    const updated = await api.patch(`iam/roleBindings/${uid}`, { roleUid: managedRole('registry.pull') })
    assert.deepEqual([updated.body.identityUid, updated.body.role.name], [identityUid, 'registry.pull'])
    assert.equal(updated.body.createTime, created.body.createTime)
    const known = Object.fromEntries(managedRoles.map((role) => [role.uid, `<${role.name}>`]))
    assertGolden(
      'api-role-bindings.json',
      stableText({ created: created.body, listed: listed.body, updated: updated.body }, known),
    )
    const deleted = await api.delete(`iam/roleBindings/${uid}`)
    assert.deepEqual([deleted.status, deleted.text], [200, ''])
    assertError(await api.get(`iam/roleBindings/${uid}`), notFoundError(TYPE, uid))
    assertError(await api.patch(`iam/roleBindings/${uid}`, {}), notFoundError(TYPE, uid))
    assertError(await api.delete(`iam/roleBindings/${uid}`), notFoundError(TYPE, uid))
  })

  test('the same over gRPC', async () => {
    const organization = await cast().organization()
    const { token } = organization.owner.api
    const { grpc } = cast()
    const service = RoleBindingsService.method
    const identityUid = await robotIn(organization)
    const created = await grpc.call(
      service.createRoleBinding,
      { parent: organization.uid, roleBinding: { identityUid, roleUid: viewer } },
      { token },
    )
    assert.deepEqual(
      [created.identity?.issuer, created.identity?.subject],
      [claimMatch.issuer, claimMatch.subject],
    )
    const { uid } = created
    assert.deepEqual(await grpc.call(service.getRoleBinding, { uid }, { token }), created)
    const listed = await grpc.call(service.listRoleBindings, { identity: identityUid }, { token })
    assert.deepEqual([listed.roleBindings, listed.totalCount], [[created], 1n])
    const roleUid = managedRole('editor')
    const updated = await grpc.call(service.updateRoleBinding, { roleBinding: { uid, roleUid } }, { token })
    assert.deepEqual([updated.identityUid, updated.role?.name], [identityUid, 'editor'])
    const batch = await grpc.call(
      service.batchCreateRoleBindings,
      { parent: organization.uid, roleUid: viewer, requests: [{ roleBinding: { identityUid } }] },
      { token },
    )
    assert.deepEqual(
      batch.roleBindings.map((binding) => binding.role?.name),
      ['viewer'],
    )
    await grpc.call(service.deleteRoleBinding, { uid }, { token })
    await assert.rejects(grpc.call(service.getRoleBinding, { uid }, { token }), { code: 5 })
  })

  test('a list is filtered by identity, group and role', async () => {
    const organization = await cast().organization()
    const { api } = organization.owner
    const group = await api.create(`iam/groups/${organization.uid}`, { name: 'team' })
    const [a, b] = [await robotIn(organization), await robotIn(organization)]
    const bind = async (where: string, identityUid: string, role: string) =>
      (await api.create(`iam/roleBindings/${where}`, { identityUid, roleUid: managedRole(role) }))
        .uid as string
    const atRoot = await bind(organization.uid, a, 'viewer')
    const inTeam = await bind(group.uid, a, 'editor')
    const others = await bind(group.uid, b, 'viewer')
    const list = async (query: Record<string, string | string[]>) => {
      const { body } = await api.get('iam/roleBindings', query)
      return body.roleBindings.map(({ uid }: { uid: string }) => uid).sort()
    }
    assert.deepEqual(await list({ identity: a }), [atRoot, inTeam].sort())
    assert.deepEqual(await list({ group: group.uid }), [inTeam, others].sort())
    assert.deepEqual(await list({ identity: a, group: group.uid }), [inTeam])
    assert.deepEqual(await list({ role: managedRole('viewer'), group: group.uid }), [others])
    assert.deepEqual(await list({ role: managedRole('apk.pull') }), [])
    assert.deepEqual(await list({ identities: [a, b] }), [atRoot, inTeam, others].sort())
    assert.deepEqual(await list({ identities: [b, `${organization.uid}/0123456789abcdef`] }), [others])
    const byGrpc = await cast().grpc.call(
      RoleBindingsService.method.listRoleBindings,
      { identities: [a], group: group.uid },
      { token: api.token },
    )
    assert.deepEqual(
      byGrpc.roleBindings.map(({ uid }) => uid),
      [inTeam],
    )
    assertError(
      await api.get('iam/roleBindings', { identities: [a, 'x'] }),
      invalidFieldError('identities[1]'),
    )
    assertError(
      await api.get('iam/roleBindings', { identities: Array(201).fill(organization.uid.slice(0, 40)) }),
      invalidFieldError('identities'),
    )
    for (const field of ['identity', 'group', 'role'])
      assertError(await api.get('iam/roleBindings', { [field]: 'x' }), invalidFieldError(field))
    assertError(await api.get('iam/roleBindings', { order_by: 'name' }), invalidFieldError('order_by'))
  })

  test('an invalid binding is rejected, and nothing is written', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const { api } = owner
    const identityUid = await robotIn(organization)
    const { uid } = await api.create(`iam/roleBindings/${root}`, { identityUid, roleUid: viewer })
    const noIdentity = `${root}/0123456789abcdef`
    const noRole = 'f'.repeat(40)
    await cast().writesNothing(async () => {
      for (const [body, ...fields] of [
        [{}, 'identityUid', 'roleUid'],
        [{ identityUid }, 'roleUid'],
        [{ roleUid: viewer }, 'identityUid'],
        [{ identityUid: 'x', roleUid: 'y' }, 'identityUid', 'roleUid'],
        [{ identityUid: null, roleUid: viewer }, 'identityUid'],
      ] as const) {
        assertError(await api.post(`iam/roleBindings/${root}`, body), invalidFieldError(...fields))
        assertError(await api.patch(`iam/roleBindings/${uid}`, body, '*'), invalidFieldError(...fields))
      }
      assertError(await api.patch(`iam/roleBindings/${uid}`, { roleUid: null }), invalidFieldError('roleUid'))
      assertError(await api.patch(`iam/roleBindings/${uid}`, {}, 'nope'), invalidFieldError('updateMask'))
      assertError(
        await api.post(`iam/roleBindings/${root}`, { identity: 'x' }),
        invalidFieldError('identity'),
      )
      assertError(
        await api.post(`iam/roleBindings/${root}`, { identityUid, roleUid: viewer, groupUid: root }),
        invalidFieldError('groupUid'),
      )
      const gone = `${root}/fedcba9876543210`
      assertError(
        await api.post(`iam/roleBindings/${gone}`, { identityUid, roleUid: viewer }),
        notFoundError(GROUP, gone),
      )
      for (const [body, refusal] of [
        [{ identityUid: noIdentity, roleUid: viewer }, notFoundError(IDENTITY, noIdentity)],
        [{ identityUid: viewer, roleUid: viewer }, notFoundError(IDENTITY, viewer)],
        [{ identityUid, roleUid: noRole }, notFoundError(ROLE, noRole)],
        [{ identityUid, roleUid: identityUid }, notFoundError(ROLE, identityUid)],
      ] as const) {
        assertError(await api.post(`iam/roleBindings/${root}`, body), refusal)
        assertError(await api.patch(`iam/roleBindings/${uid}`, body), refusal)
      }
    })
  })

  test('an identity has a role in a group once', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const identityUid = await robotIn(organization)
    const first = await owner.api.create(`iam/roleBindings/${root}`, { identityUid, roleUid: viewer })
    const other = await owner.api.create(`iam/roleBindings/${root}`, {
      identityUid,
      roleUid: managedRole('apk.pull'),
    })
    await cast().writesNothing(async () => {
      const body = { identityUid, roleUid: viewer }
      assertError(await owner.api.post(`iam/roleBindings/${root}`, body), alreadyExistsError(TYPE, first.uid))
      assertError(
        await owner.api.patch(`iam/roleBindings/${other.uid}`, body),
        alreadyExistsError(TYPE, first.uid),
      )
      const requests = [{ roleBinding: { ...body, roleUid: managedRole('editor') } }, { roleBinding: body }]
      assertError(
        await owner.api.post('iam/roleBindings:batchCreate', { parent: root, requests }),
        alreadyExistsError(TYPE, root),
      )
    })
    const { uid } = await owner.api.create(`iam/groups/${root}`, { name: 'below' })
    await owner.api.create(`iam/roleBindings/${uid}`, { identityUid, roleUid: viewer })
  })

  test('an update changes the identity, the role or both, and never the group', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const [a, b] = [await robotIn(organization), await robotIn(organization)]
    const editor = managedRole('editor')
    const cases: readonly [body: object, mask: string | undefined, identity: string, role: string][] = [
      [{ roleUid: editor }, undefined, a, editor],
      [{ identityUid: b }, undefined, b, viewer],
      [{ identityUid: b, roleUid: editor }, 'roleUid', a, editor],
      [{ identityUid: b, roleUid: editor }, 'identity_uid', b, viewer],
      [{ identityUid: b, roleUid: editor }, '*', b, editor],
      [
        { uid: 'f'.repeat(40), group: { uid: 'x' }, createTime: '2001-01-01T00:00:00Z' },
        undefined,
        a,
        viewer,
      ],
      [{}, undefined, a, viewer],
    ]
    for (const [body, mask, identity, role] of cases) {
      const made = await owner.api.create(`iam/roleBindings/${root}`, { identityUid: a, roleUid: viewer })
      const reply = await owner.api.patch(`iam/roleBindings/${made.uid}`, body, mask)
      assert.equal(reply.status, 200, reply.text)
      const { identity: hydratedIdentity, role: hydratedRole, ...rest } = reply.body
      assert.deepEqual([hydratedIdentity.uid, hydratedRole.uid], [identity, role])
      assert.deepEqual(rest, {
        uid: made.uid,
        group: made.group,
        createTime: made.createTime,
        identityUid: identity,
        roleUid: role,
      })
      await owner.api.delete(`iam/roleBindings/${made.uid}`)
    }
  })

  test('a custom role can be bound only in its group and its descendants', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const identityUid = await robotIn(organization)
    const [a, b] = [
      await owner.api.create(`iam/groups/${root}`, { name: 'a' }),
      await owner.api.create(`iam/groups/${root}`, { name: 'b' }),
    ]
    const below = await owner.api.create(`iam/groups/${a.uid}`, { name: 'below' })
    const role = await owner.api.create(`iam/roles/${a.uid}`, {
      name: 'custom',
      capabilities: ['CAP_REPO_LIST'],
    })
    const body = { identityUid, roleUid: role.uid }
    for (const group of [a, below]) await owner.api.create(`iam/roleBindings/${group.uid}`, body)
    for (const group of [root, b.uid])
      assertError(await owner.api.post(`iam/roleBindings/${group}`, body), notFoundError(ROLE, role.uid))
  })

  test('a user may be bound in any organization', async () => {
    const { owner, uid: root } = await cast().organization()
    const person = cast().berth.owner
    const made = await owner.api.create(`iam/roleBindings/${root}`, { identityUid: person, roleUid: viewer })
    assert.deepEqual([made.identity.uid, made.identity.name], [person, 'owner'])
  })

  test('R17: identities and roles of another organization look as if they did not exist', async () => {
    const [mine, theirs] = [await cast().organization(), await cast().organization()]
    const theirRole = await theirs.owner.api.create(`iam/roles/${theirs.uid}`, {
      name: 'r',
      capabilities: ['CAP_REPO_LIST'],
    })
    const identityUid = await robotIn(mine)
    const own = await mine.owner.api.create(`iam/roleBindings/${mine.uid}`, { identityUid, roleUid: viewer })
    const theirBinding = theirs.owner
    const bindings = (await theirs.owner.api.get('iam/roleBindings', { identity: theirBinding.uid })).body
      .roleBindings
    const foreign = bindings[0].uid as string
    const { api } = mine.owner
    await cast().writesNothing(async () => {
      for (const [body, refusal] of [
        [{ identityUid: theirs.owner.uid, roleUid: viewer }, notFoundError(IDENTITY, theirs.owner.uid)],
        [{ identityUid, roleUid: theirRole.uid }, notFoundError(ROLE, theirRole.uid)],
      ] as const) {
        assertError(await api.post(`iam/roleBindings/${mine.uid}`, body), refusal)
        assertError(await api.patch(`iam/roleBindings/${own.uid}`, body), refusal)
        const requests = [{ roleBinding: body }]
        assertError(await api.post('iam/roleBindings:batchCreate', { parent: mine.uid, requests }), refusal)
      }
      const body = { identityUid, roleUid: viewer }
      assertError(await api.post(`iam/roleBindings/${theirs.uid}`, body), permissionDeniedError)
      assertError(
        await api.post('iam/roleBindings:batchCreate', {
          parent: theirs.uid,
          requests: [{ roleBinding: body }],
        }),
        permissionDeniedError,
      )
      for (const uid of [foreign, `${theirs.uid}/0123456789abcdef`]) {
        assertError(await api.get(`iam/roleBindings/${uid}`), permissionDeniedError)
        assertError(await api.patch(`iam/roleBindings/${uid}`, body), permissionDeniedError)
        assertError(await api.delete(`iam/roleBindings/${uid}`), permissionDeniedError)
      }
    })
    for (const query of [
      { identity: theirs.owner.uid },
      { group: theirs.uid },
      { role: theirRole.uid },
      { 'uidp.ids': foreign },
      { 'uidp.descendants_of': theirs.uid },
    ]) {
      const { status, body } = await api.get('iam/roleBindings', query)
      assert.deepEqual([status, body.roleBindings, body.totalCount], [200, [], '0'])
    }
  })

  test('R19: a caller cannot grant more than they hold there', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const team = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const beside = await owner.api.create(`iam/groups/${root}`, { name: 'beside' })
    // Owns one team, so it may bind there, and reads the rest.
    const lead = await organization.member('owner', team.uid)
    const identityUid = await robotIn(organization)
    const granter = await owner.api.create(`iam/roles/${root}`, {
      name: newName('granter'),
      capabilities: [
        'CAP_IAM_ROLE_BINDINGS_CREATE',
        'CAP_IAM_ROLE_BINDINGS_UPDATE',
        'CAP_IAM_ROLE_BINDINGS_LIST',
        'CAP_REPO_LIST',
      ],
    })
    const small = await owner.api.create(`iam/roles/${root}`, {
      name: 'small',
      capabilities: ['CAP_REPO_LIST'],
    })
    const member = await organization.member(granter.uid)
    const own = await member.api.create(`iam/roleBindings/${root}`, { identityUid, roleUid: small.uid })
    await lead.api.create(`iam/roleBindings/${team.uid}`, { identityUid, roleUid: managedRole('owner') })
    const strong = await owner.api.create(`iam/roleBindings/${root}`, { identityUid, roleUid: viewer })
    await cast().writesNothing(async () => {
      for (const role of ['viewer', 'owner', 'editor']) {
        const body = { identityUid, roleUid: managedRole(role) }
        assertError(await member.api.post(`iam/roleBindings/${root}`, body), permissionDeniedError)
        for (const mask of [undefined, 'role_uid', '*'])
          assertError(
            await member.api.patch(`iam/roleBindings/${own.uid}`, body, mask),
            permissionDeniedError,
          )
        const requests = [{ roleBinding: { identityUid, roleUid: small.uid } }, { roleBinding: body }]
        assertError(
          await member.api.post('iam/roleBindings:batchCreate', { parent: team.uid, requests }),
          permissionDeniedError,
        )
      }
      // Giving a powerful binding to another identity is granting it, too.
      assertError(
        await member.api.patch(`iam/roleBindings/${strong.uid}`, { identityUid: member.uid }),
        permissionDeniedError,
      )
      for (const group of [root, beside.uid])
        assertError(
          await lead.api.post(`iam/roleBindings/${group}`, { identityUid, roleUid: viewer }),
          permissionDeniedError,
        )
    })
  })

  test('batches of the same identities in any order conflict no more than single requests', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const identities = await Promise.all(Array.from({ length: 10 }, () => robotIn(organization)))
    const replies = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const group = await owner.api.create(`iam/groups/${root}`, { name: `batch ${n}` })
        const requests = identities.map((identityUid) => ({
          roleBinding: { identityUid, roleUid: managedRole('viewer') },
        }))
        if (n % 2 === 1) requests.reverse()
        return owner.api.post('iam/roleBindings:batchCreate', { parent: group.uid, requests })
      }),
    )
    for (const [n, { status, text, body }] of replies.entries()) {
      assert.equal(status, 200, text)
      const made = body.roleBindings.map((binding: { identityUid: string }) => binding.identityUid)
      assert.deepEqual(made, n % 2 === 1 ? identities.toReversed() : identities)
    }
  })

  test('a batch is created as a whole and in order, or not at all', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const robots = await Promise.all(
      Array.from({ length: limits.batchEntriesMax + 1 }, () => robotIn(organization)),
    )
    const entries = robots.map((identityUid) => ({ roleBinding: { identityUid } }))
    const batch = (body: object) => owner.api.post('iam/roleBindings:batchCreate', { parent: root, ...body })
    const within = entries.slice(0, limits.batchEntriesMax)
    await cast().writesNothing(async () => {
      assertError(await batch({ roleUid: viewer, requests: entries }), invalidFieldError('requests'))
      assertError(await batch({ roleUid: viewer, requests: [] }), invalidFieldError('requests'))
      assertError(
        await batch({ requests: within.slice(0, 1) }),
        invalidFieldError('requests[0].roleBinding.roleUid'),
      )
      assertError(
        await batch({ roleUid: viewer, requests: [...within.slice(0, 2), {}] }),
        invalidFieldError('requests[2].roleBinding.identityUid'),
      )
      const elsewhere = { parent: 'f'.repeat(40), ...within[1] }
      assertError(
        await batch({ roleUid: viewer, requests: [within[0], elsewhere] }),
        invalidFieldError('requests[1].parent'),
      )
      const otherRole = { roleBinding: { ...within[0]?.roleBinding, roleUid: managedRole('editor') } }
      assertError(
        await batch({ roleUid: viewer, requests: [otherRole] }),
        invalidFieldError('requests[0].roleBinding.roleUid'),
      )
      const [first, second] = within
      // Twice in one batch, also when the role stands elsewhere.
      assertError(
        await batch({ roleUid: viewer, requests: [first, second, first] }),
        alreadyExistsError(TYPE, root),
      )
      const explicit = { roleBinding: { ...first?.roleBinding, roleUid: viewer } }
      assertError(
        await batch({ roleUid: viewer, requests: [first, explicit] }),
        alreadyExistsError(TYPE, root),
      )
      const gone = `${root}/fedcba9876543210`
      assertError(await batch({ parent: gone, roleUid: viewer, requests: [] }), notFoundError(GROUP, gone))
      const unknown = `${root}/0123456789abcdef`
      const last = { roleBinding: { identityUid: unknown } }
      assertError(
        await batch({ roleUid: viewer, requests: [...within.slice(0, 3), last] }),
        notFoundError(IDENTITY, unknown),
      )
      assertError(
        await owner.api.post('iam/roleBindings:batchCreate', { requests: within }),
        invalidFieldError('parent'),
      )
    })
    const { status, body, text } = await batch({
      roleUid: viewer,
      requests: within.map((entry, at) => (at === 0 ? { ...entry, parent: root } : entry)),
    })
    assert.equal(status, 200, text)
    assert.deepEqual(
      body.roleBindings.map((binding: Record<string, string>) => [
        binding['identityUid'],
        binding['roleUid'],
      ]),
      robots.slice(0, limits.batchEntriesMax).map((identity) => [identity, viewer]),
    )
    assert.deepEqual(
      (await owner.api.get(`iam/roleBindings/${body.roleBindings[7].uid}`)).body,
      body.roleBindings[7],
    )
    const records = (await cast().auditEventsOf(root)).filter(({ method }) =>
      method.endsWith('/BatchCreateRoleBindings'),
    )
    assert.equal(records.length, 1)
  })

  test('each change writes one audit record, a failed or empty one none', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const identityUid = await robotIn(organization)
    const { uid } = await owner.api.create(`iam/roleBindings/${root}`, { identityUid, roleUid: viewer })
    await owner.api.patch(`iam/roleBindings/${uid}`, { roleUid: managedRole('editor') })
    await cast().writesNothing(() => owner.api.patch(`iam/roleBindings/${uid}`, { identityUid }))
    await owner.api.patch(`iam/roleBindings/${uid}`, { roleUid: 'x' })
    await owner.api.delete(`iam/roleBindings/${uid}`)
    assert.deepEqual(
      (await cast().auditEventsOf(uid)).map(({ method }) => method.split('/')[1]),
      ['CreateRoleBinding', 'UpdateRoleBinding', 'DeleteRoleBinding'],
    )
  })
})
