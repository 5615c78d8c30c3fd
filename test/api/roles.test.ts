import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capabilitySetOf } from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { RolesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { managedRoles } from '@berth/server/iam/managed-roles.ts'
import {
  apiOf,
  assertError,
  claimMatch,
  failedPreconditionError,
  invalidFieldError,
  managedRole,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { stableText } from '../support/api/stable-output.ts'
import { assertGolden } from '../support/golden.ts'

const TYPE = 'iam.chainguard.dev/Role'
const capabilities = ['CAP_IAM_GROUPS_LIST', 'CAP_IAM_ROLES_LIST']

onEveryDatabase('roles', (cast) => {
  test('create, get, list, update and delete return the exact JSON', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const created = await api.post(`iam/roles/${root}`, {
      name: 'reader',
      description: 'Reads',
      capabilities,
    })
    assert.equal(created.status, 200, created.text)
    const { uid } = created.body
    assert.equal(uid.slice(0, -17), root)
    assert.deepEqual((await api.get(`iam/roles/${uid}`)).body, created.body)
    const listed = await api.get('iam/roles', { 'uidp.descendants_of': root })
    assert.deepEqual(listed.body.roles, [created.body])
    cast().berth.advance(5)
    const updated = await api.patch(`iam/roles/${uid}`, { capabilities: ['CAP_REPO_LIST'] })
    assert.ok(updated.body.updateTime > created.body.updateTime)
    assertGolden(
      'api-roles.json',
      stableText({ created: created.body, listed: listed.body, updated: updated.body }),
    )
    const deleted = await api.delete(`iam/roles/${uid}`)
    assert.deepEqual([deleted.status, deleted.text], [200, ''])
    assertError(await api.get(`iam/roles/${uid}`), notFoundError(TYPE, uid))
    assertError(await api.patch(`iam/roles/${uid}`, {}), notFoundError(TYPE, uid))
    assertError(await api.delete(`iam/roles/${uid}`), notFoundError(TYPE, uid))
  })

  test('the same over gRPC', async () => {
    const { owner, uid: root } = await cast().organization()
    const { grpc } = cast()
    const { token } = owner.api
    const { createRole, getRole, listRoles, updateRole, deleteRole } = RolesService.method
    const role = { name: 'reader', capabilities: [Capability.CAP_REPO_LIST] }
    const created = await grpc.call(createRole, { parent: root, role }, { token })
    assert.deepEqual(await grpc.call(getRole, { uid: created.uid }, { token }), created)
    const listed = await grpc.call(listRoles, { uidp: { childrenOf: root } }, { token })
    assert.deepEqual([listed.roles, listed.totalCount], [[created], 1n])
    const updated = await grpc.call(updateRole, { role: { uid: created.uid, description: 'd' } }, { token })
    assert.deepEqual(
      [updated.name, updated.description, updated.capabilities],
      ['reader', 'd', role.capabilities],
    )
    await grpc.call(deleteRole, { uid: created.uid }, { token })
    await assert.rejects(grpc.call(getRole, { uid: created.uid }, { token }), { code: 5 })
  })

  test('managed roles have fixed uids, and every caller can read them', async () => {
    const stranger = await cast().organization()
    const identity = await stranger.owner.api.create(`iam/identities/${stranger.uid}`, {
      name: 'nobody',
      claimMatch,
    })
    const api = apiOf(cast().berth, await cast().berth.tokenOf(identity.uid))
    const { body } = await api.get('iam/roles', { order_by: 'name' })
    assert.equal(body.totalCount, String(managedRoles.length))
    assert.deepEqual(
      body.roles.map(({ uid, name, description }: Record<string, string>) => ({ uid, name, description })),
      managedRoles
        .map(({ uid, name, description }) => ({ uid, name, description }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    )
    for (const role of body.roles) {
      assert.deepEqual((await api.get(`iam/roles/${role.uid}`)).body, role)
      const managed = managedRoles.find(({ uid }) => uid === role.uid)
      assert.equal(
        capabilitySetOf(role.capabilities.map((name: keyof typeof Capability) => Capability[name])),
        managed?.capabilities,
      )
    }
    const viewer = await api.get('iam/roles', { name: 'viewer' })
    assert.deepEqual(
      viewer.body.roles.map(({ uid }: { uid: string }) => uid),
      [managedRole('viewer')],
    )
    assert.equal(
      (await api.get('iam/roles', { 'uidp.in_root': 'true' })).body.totalCount,
      String(managedRoles.length),
    )
  })

  test('no caller can change managed roles', async () => {
    const { owner } = await cast().organization()
    await cast().writesNothing(async () => {
      for (const { uid } of managedRoles) {
        for (const api of [owner.api, cast().admin]) {
          assertError(await api.patch(`iam/roles/${uid}`, { description: 'mine' }), permissionDeniedError)
          assertError(await api.patch(`iam/roles/${uid}`, {}, '*'), permissionDeniedError)
          assertError(await api.delete(`iam/roles/${uid}`), permissionDeniedError)
        }
      }
    })
  })

  test('an invalid role is rejected, field by field, and nothing is written', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.create(`iam/roles/${root}`, { name: 'reader', capabilities })
    const cases: readonly [body: object, ...fields: string[]][] = [
      [{ capabilities }, 'name'],
      [{ name: 'Reader', capabilities }, 'name'],
      [{ name: 'reader', description: '\u0007', capabilities }, 'description'],
      [{ name: 'reader' }, 'capabilities'],
      [{ name: 'reader', capabilities: [] }, 'capabilities'],
      [{ name: 'reader', capabilities: [0] }, 'capabilities[0]'],
      [{ name: 'reader', capabilities: ['CAP_REPO_LIST', 'UNKNOWN'] }, 'capabilities[1]'],
      [{ name: 'reader', capabilities: [99999] }, 'capabilities[0]'],
      [{ name: 'reader', capabilities: ['CAP_REPO_INTERNAL_ADMIN'] }, 'capabilities[0]'],
      [{ name: 'reader', capabilities, capability: 1 }, 'capability'],
    ]
    await cast().writesNothing(async () => {
      for (const [body, ...fields] of cases) {
        for (const api of [owner.api, cast().admin]) {
          assertError(await api.post(`iam/roles/${root}`, body), invalidFieldError(...fields))
          assertError(
            await api.patch(`iam/roles/${uid}`, body, 'capability' in body ? undefined : '*'),
            invalidFieldError(...fields),
          )
        }
      }
      const named = await owner.api.post(`iam/roles/${root}`, { name: 'reader', capabilities: ['CAP_NOPE'] })
      assert.deepEqual([named.status, named.body.code], [400, 3])
      for (const bad of ['x', `${root}/`])
        assertError(await owner.api.get(`iam/roles/${bad}`), invalidFieldError('uid'))
      const gone = `${root}/0123456789abcdef`
      assertError(
        await owner.api.post(`iam/roles/${gone}`, { name: 'a', capabilities }),
        notFoundError('iam.chainguard.dev/Group', gone),
      )
    })
  })

  test('capabilities are a set: each once, in the order of their numbers', async () => {
    const { owner, uid: root } = await cast().organization()
    const twice = ['CAP_REPO_LIST', 'CAP_IAM_GROUPS_LIST', 'CAP_REPO_LIST', Capability.CAP_IAM_GROUPS_LIST]
    const made = await owner.api.create(`iam/roles/${root}`, { name: 'reader', capabilities: twice })
    assert.deepEqual(made.capabilities, ['CAP_IAM_GROUPS_LIST', 'CAP_REPO_LIST'])
    const { body } = await owner.api.patch(`iam/roles/${made.uid}`, {
      capabilities: [...twice, 'CAP_APK_LIST'],
    })
    assert.deepEqual(body.capabilities, ['CAP_IAM_GROUPS_LIST', 'CAP_REPO_LIST', 'CAP_APK_LIST'])
  })

  test("V15: the platform's administrators may still put deprecated capabilities into a role", async () => {
    const { uid: root } = await cast().organization()
    const deprecated = ['CAP_SIGSTORE_LIST']
    const made = await cast().admin.create(`iam/roles/${root}`, { name: 'old', capabilities: deprecated })
    assert.deepEqual(made.capabilities, deprecated)
  })

  test('T3: the mask * replaces the set by exactly what was sent, and never by an empty set', async () => {
    const { owner, uid: root } = await cast().organization()
    const made = await owner.api.create(`iam/roles/${root}`, {
      name: 'reader',
      description: 'd',
      capabilities,
    })
    const { body } = await owner.api.patch(
      `iam/roles/${made.uid}`,
      { name: 'reader', description: 'd', capabilities: ['CAP_TAG_LIST', 'CAP_REPO_LIST'] },
      '*',
    )
    assert.deepEqual(body.capabilities, ['CAP_REPO_LIST', 'CAP_TAG_LIST'])
    for (const mask of ['*', 'capabilities'])
      assertError(
        await owner.api.patch(`iam/roles/${made.uid}`, { name: 'reader' }, mask),
        invalidFieldError('capabilities'),
      )
    // Left out, they stay.
    const { body: kept } = await owner.api.patch(`iam/roles/${made.uid}`, { name: 'other' })
    assert.deepEqual(kept.capabilities, body.capabilities)
  })

  test('an update changes the named fields only', async () => {
    const { owner, uid: root } = await cast().organization()
    const cases: readonly [body: object, mask: string | undefined, wanted: object][] = [
      [{ name: 'other' }, undefined, { name: 'other' }],
      [{ description: '' }, undefined, { description: '' }],
      [{ description: null }, undefined, { description: '' }],
      [
        { name: 'other', capabilities: ['CAP_REPO_LIST'] },
        'capabilities',
        { capabilities: ['CAP_REPO_LIST'] },
      ],
      [
        { name: 'other', capabilities: ['CAP_REPO_LIST'] },
        '*',
        { name: 'other', description: '', capabilities: ['CAP_REPO_LIST'] },
      ],
      [
        { uid: 'x', createTime: '2001-01-01T00:00:00Z', description: 'e' },
        'uid,create_time,description',
        { description: 'e' },
      ],
      [{}, undefined, {}],
    ]
    for (const [body, mask, wanted] of cases) {
      const made = await owner.api.create(`iam/roles/${root}`, {
        name: 'reader',
        description: 'd',
        capabilities,
      })
      const { status, body: updated, text } = await owner.api.patch(`iam/roles/${made.uid}`, body, mask)
      assert.equal(status, 200, text)
      assert.deepEqual(updated, { ...made, ...wanted, updateTime: updated.updateTime })
    }
  })

  test('R19: a caller cannot create a role that grants more than they hold', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    // May write roles and read groups, and nothing more.
    const writer = await owner.api.create(`iam/roles/${root}`, {
      name: newName('writer'),
      capabilities: [
        'CAP_IAM_ROLES_CREATE',
        'CAP_IAM_ROLES_UPDATE',
        'CAP_IAM_ROLES_LIST',
        'CAP_IAM_GROUPS_LIST',
      ],
    })
    const member = await organization.member(writer.uid)
    const made = await member.api.create(`iam/roles/${root}`, { name: 'mine', capabilities })
    const theirs = await owner.api.create(`iam/roles/${root}`, {
      name: 'theirs',
      capabilities: ['CAP_REPO_LIST'],
    })
    await cast().writesNothing(async () => {
      for (const more of [['CAP_REPO_LIST'], [...capabilities, 'CAP_IAM_GROUPS_DELETE']]) {
        assertError(
          await member.api.post(`iam/roles/${root}`, { name: 'more', capabilities: more }),
          permissionDeniedError,
        )
        for (const mask of [undefined, 'capabilities', '*'])
          assertError(
            await member.api.patch(`iam/roles/${made.uid}`, { name: 'more', capabilities: more }, mask),
            permissionDeniedError,
          )
      }
      // Also one that others made, whatever of it would change.
      assertError(
        await member.api.patch(`iam/roles/${theirs.uid}`, { description: 'd' }),
        permissionDeniedError,
      )
      // What only the operator's roles may hold needs the operator.
      const internal = ['CAP_INTERNAL', 'CAP_REPO_INTERNAL_ADMIN']
      assertError(
        await owner.api.post(`iam/roles/${root}`, { name: 'op', capabilities: internal }),
        permissionDeniedError,
      )
    })
    const operator = await cast().admin.create(`iam/roles/${root}`, {
      name: 'op',
      capabilities: ['CAP_INTERNAL', 'CAP_REPO_INTERNAL_ADMIN'],
    })
    assert.equal(operator.capabilities.length, 2)
  })

  test('a role with bindings cannot be deleted, and its bindings grant what it grants', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const { uid } = await owner.api.create(`iam/roles/${root}`, { name: 'reader', capabilities })
    const member = await organization.member(uid)
    assert.equal((await member.api.get(`iam/groups/${root}`)).status, 200)
    await cast().writesNothing(async () =>
      assertError(await owner.api.delete(`iam/roles/${uid}`), failedPreconditionError('RESOURCE_IN_USE')),
    )
    await owner.api.patch(`iam/roles/${uid}`, { capabilities: ['CAP_REPO_LIST'] })
    assertError(await member.api.get(`iam/groups/${root}`), permissionDeniedError)
    await owner.api.delete(`iam/roleBindings/${member.binding}`)
    assert.equal((await owner.api.delete(`iam/roles/${uid}`)).status, 200)
  })

  test('R17: a role of another organization can be neither read nor written', async () => {
    const [mine, theirs] = [await cast().organization(), await cast().organization()]
    const role = await theirs.owner.api.create(`iam/roles/${theirs.uid}`, { name: 'reader', capabilities })
    await cast().writesNothing(async () => {
      for (const uid of [role.uid, `${theirs.uid}/0123456789abcdef`, theirs.uid]) {
        assertError(await mine.owner.api.get(`iam/roles/${uid}`), permissionDeniedError)
        assertError(await mine.owner.api.patch(`iam/roles/${uid}`, { name: 'a' }), permissionDeniedError)
        assertError(await mine.owner.api.delete(`iam/roles/${uid}`), permissionDeniedError)
      }
      assertError(
        await mine.owner.api.post(`iam/roles/${theirs.uid}`, { name: 'a', capabilities }),
        permissionDeniedError,
      )
    })
    const { body } = await mine.owner.api.get('iam/roles', { 'uidp.ids': [role.uid, managedRole('viewer')] })
    assert.deepEqual(
      body.roles.map(({ uid }: { uid: string }) => uid),
      [managedRole('viewer')],
    )
  })

  test('each change writes one audit record, a failed or empty one none', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.create(`iam/roles/${root}`, { name: 'reader', capabilities })
    await owner.api.patch(`iam/roles/${uid}`, { description: 'd' })
    await cast().writesNothing(() => owner.api.patch(`iam/roles/${uid}`, { description: 'd', capabilities }))
    await owner.api.patch(`iam/roles/${uid}`, { name: '' })
    await owner.api.delete(`iam/roles/${uid}`)
    assert.deepEqual(
      (await cast().auditEventsOf(uid)).map(({ method }) => method.split('/')[1]),
      ['CreateRole', 'UpdateRole', 'DeleteRole'],
    )
  })
})
