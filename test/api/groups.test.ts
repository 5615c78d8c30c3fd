import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService, OrgKind } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  alreadyExistsError,
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
import type { GrpcFailure } from '../support/api/grpc.ts'
import { call } from '../support/api/rest.ts'
import { stableText } from '../support/api/stable-output.ts'
import { assertGolden } from '../support/golden.ts'

const TYPE = 'iam.chainguard.dev/Group'
const nameRule = 'name must match "^[a-z0-9 ._-]{1,}$"'
/** Well-formed, and unused. */
const nowhere = '0123456789abcdef'

onEveryDatabase('groups', (cast) => {
  test('create, get, list, update and delete return the exact JSON', async () => {
    const { owner, uid: root } = await cast().organization()
    const created = await owner.api.post(`iam/groups/${root}`, { name: 'team one', description: 'The first' })
    assert.equal(created.status, 200)
    assert.equal(created.headers.get('content-type'), 'application/json')
    const { uid } = created.body
    assert.equal(uid.slice(0, -17), root)
    const got = await owner.api.get(`iam/groups/${uid}`)
    assert.deepEqual(got.body, created.body)
    const listed = await owner.api.get('iam/groups', { 'uidp.descendants_of': root })
    assert.deepEqual(listed.body.groups, [created.body])
    const updated = await owner.api.patch(`iam/groups/${uid}`, { description: 'Still the first' })
    assertGolden(
      'api-groups.json',
      stableText({ created: created.body, listed: listed.body, updated: updated.body }),
    )
    const deleted = await owner.api.delete(`iam/groups/${uid}`)
    assert.deepEqual([deleted.status, deleted.text, deleted.headers.get('content-length')], [200, '', '0'])
    assertError(await owner.api.get(`iam/groups/${uid}`), notFoundError(TYPE, uid))
    assertError(await owner.api.delete(`iam/groups/${uid}`), notFoundError(TYPE, uid))
    assertError(await owner.api.patch(`iam/groups/${uid}`, {}), notFoundError(TYPE, uid))
  })

  test('the same over gRPC', async () => {
    const { owner, uid: root } = await cast().organization()
    const { grpc } = cast()
    const { createGroup, getGroup, listGroups, updateGroup, deleteGroup } = GroupsService.method
    const { token } = owner.api
    const created = await grpc.call(createGroup, { parent: root, group: { name: 'team' } }, { token })
    assert.equal(created.createTime!.nanos % 1_000_000, 0)
    assert.deepEqual(await grpc.call(getGroup, { uid: created.uid }, { token }), created)
    const listed = await grpc.call(listGroups, { uidp: { childrenOf: root } }, { token })
    assert.deepEqual([listed.groups, listed.totalCount, listed.nextPageToken], [[created], 1n, ''])
    // Without a mask, what is populated changes: the name stays.
    const updated = await grpc.call(updateGroup, { group: { uid: created.uid, description: 'd' } }, { token })
    assert.deepEqual([updated.name, updated.description], ['team', 'd'])
    const masked = await grpc.call(
      updateGroup,
      { group: { uid: created.uid, name: 'other' }, updateMask: { paths: ['description'] } },
      { token },
    )
    assert.deepEqual([masked.name, masked.description], ['team', ''])
    await grpc.call(deleteGroup, { uid: created.uid }, { token })
    await assert.rejects(
      grpc.call(getGroup, { uid: created.uid }, { token }),
      ({ code, status }: GrpcFailure) => {
        assert.equal(code, 5)
        assert.deepEqual(
          status?.details.map(({ typeUrl }) => typeUrl),
          ['type.googleapis.com/google.rpc.ErrorInfo', 'type.googleapis.com/google.rpc.ResourceInfo'],
        )
        return true
      },
    )
  })

  test('a group without a name is rejected with the text of the spec', async () => {
    const { owner, uid } = await cast().organization()
    const { url } = cast().berth
    const reply = await call('POST', `${url}/iam/v2beta1/groups/${uid}`, {
      token: owner.api.token,
      body: '{}',
    })
    assert.equal(reply.status, 400)
    assert.equal(
      reply.text,
      `{"code":3,"message":${JSON.stringify(`Invalid argument: name: ${nameRule}`)},"details":[` +
        '{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_ARGUMENT","domain":"127.0.0.1"},' +
        '{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[' +
        `{"field":"name","description":${JSON.stringify(nameRule)}}]}]}`,
    )
  })

  test('deleting a group with a repo is rejected with the text of the spec', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.create(`iam/groups/${root}`, { name: 'full' })
    await owner.api.create(`registry/repos/${uid}`, { name: 'nginx' })
    const reply = await cast().writesNothing(() => owner.api.delete(`iam/groups/${uid}`))
    assert.equal(reply.status, 400)
    assert.equal(
      reply.text,
      `{"code":9,"message":"Precondition failed: group ${uid} still contains repos","details":[` +
        '{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"FAILED_PRECONDITION","domain":"127.0.0.1"},' +
        '{"@type":"type.googleapis.com/google.rpc.PreconditionFailure","violations":[' +
        `{"type":"RESOURCE_NOT_EMPTY","description":"group ${uid} still contains repos"}]}]}`,
    )
  })

  const badBodies: readonly [title: string, body: unknown, ...fields: string[]][] = [
    ['no body', undefined, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a null name', { name: null }, 'name'],
    ['an upper-case name', { name: 'Team' }, 'name'],
    ['a slash in the name', { name: 'a/b' }, 'name'],
    ['a newline after the name', { name: 'team\n' }, 'name'],
    ['letters beyond ASCII', { name: 'größe' }, 'name'],
    ['a name of more characters than the index holds', { name: 'a'.repeat(limits.nameCharsMax + 1) }, 'name'],
    [
      'a description that is too long',
      { name: 'a', description: 'd'.repeat(limits.descriptionCharsMax + 1) },
      'description',
    ],
    ['a control character', { name: 'a', description: '\u0007' }, 'description'],
    ['two bad fields', { name: '', description: '\u0007' }, 'name', 'description'],
    ['R10: an unknown member', { name: 'a', nmae: 'b' }, 'nmae'],
    ['a number for a name', { name: 1 }, 'name'],
    ['an unknown kind', { name: 'a', kind: 'ORG_KIND_NONE' }, 'kind'],
    ['a list', [], ''],
  ]
  test('an invalid group is rejected, field by field, and nothing is written', async () => {
    const { owner, uid: root } = await cast().organization()
    const existing = await owner.api.create(`iam/groups/${root}`, { name: 'existing' })
    for (const [title, body, ...fields] of badBodies) {
      const wanted = fields[0] === '' ? undefined : invalidFieldError(...fields)
      const refused = await cast().writesNothing(() => owner.api.post(`iam/groups/${root}`, body))
      if (wanted !== undefined) assertError(refused, wanted)
      else assert.deepEqual([refused.status, refused.body.code], [400, 3], title)
      if (body === undefined) continue
      const patched = await cast().writesNothing(() => owner.api.patch(`iam/groups/${existing.uid}`, body))
      if (wanted !== undefined) assertError(patched, wanted)
    }
  })

  test('names and descriptions can have their full length', async () => {
    const { owner, uid: root } = await cast().organization()
    const longest = {
      name: 'a .-_9'.padEnd(limits.nameCharsMax, 'x'),
      description: '🛳'.repeat(limits.descriptionCharsMax),
    }
    const made = await owner.api.create(`iam/groups/${root}`, longest)
    assert.deepEqual([made.name, made.description], [longest.name, longest.description])
  })

  test('a malformed uid is code 3 in every field', async () => {
    const { owner, uid: root } = await cast().organization()
    for (const bad of [
      'x',
      root.slice(1),
      `${root}/`,
      `${root}/12`,
      root.toUpperCase().replace(/^./, 'A'),
      `/${root}`,
    ]) {
      assertError(await owner.api.get(`iam/groups/${bad}`), invalidFieldError('uid'))
      assertError(await owner.api.delete(`iam/groups/${bad}`), invalidFieldError('uid'))
      assertError(await owner.api.patch(`iam/groups/${bad}`, {}), invalidFieldError('uid'))
      // As a parent, what a group can be named is a name.
      if (bad.length > 39 || bad.includes('/'))
        assertError(await owner.api.post(`iam/groups/${bad}`, { name: 'a' }), invalidFieldError('parent'))
      for (const filter of ['descendants_of', 'children_of', 'ancestors_of', 'ids'])
        assertError(
          await owner.api.get('iam/groups', { [`uidp.${filter}`]: bad }),
          invalidFieldError(`uidp.${filter}`),
        )
    }
  })

  test('a missing parent is 404 for callers who may create there, and 403 for others', async () => {
    const [mine, theirs] = [await cast().organization(), await cast().organization()]
    const gone = `${mine.uid}/${nowhere}`
    assertError(await mine.owner.api.post(`iam/groups/${gone}`, { name: 'a' }), notFoundError(TYPE, gone))
    assertError(await theirs.owner.api.post(`iam/groups/${gone}`, { name: 'a' }), permissionDeniedError)
  })

  test('siblings have different names, cousins may share one', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const a = await owner.api.create(`iam/groups/${root}`, { name: 'a' })
    const b = await owner.api.create(`iam/groups/${root}`, { name: 'b' })
    await owner.api.create(`iam/groups/${a.uid}`, { name: 'a' })
    await cast().writesNothing(async () => {
      assertError(await owner.api.post(`iam/groups/${root}`, { name: 'a' }), alreadyExistsError(TYPE, a.uid))
      assertError(
        await owner.api.patch(`iam/groups/${b.uid}`, { name: 'a' }),
        alreadyExistsError(TYPE, a.uid),
      )
    })
    // Who may make groups and not see them learns no uid.
    const roleUid = (
      await owner.api.create(`iam/roles/${root}`, { name: 'maker', capabilities: ['CAP_IAM_GROUPS_CREATE'] })
    ).uid
    const { api } = await organization.member(roleUid)
    assertError(await api.post(`iam/groups/${root}`, { name: 'a' }), alreadyExistsError(TYPE, 'a'))
    await owner.api.delete(`iam/groups/${b.uid}`)
    await owner.api.create(`iam/groups/${root}`, { name: 'b' })
  })

  test('organizations have different names in the whole installation', async () => {
    const { admin } = cast()
    const [one, two] = [await cast().organization(), await cast().organization()]
    await cast().writesNothing(async () => {
      assertError(await admin.post('iam/groups', { name: one.name }), alreadyExistsError(TYPE, one.uid))
      assertError(
        await admin.patch(`iam/groups/${two.uid}`, { name: one.name }),
        alreadyExistsError(TYPE, one.uid),
      )
    })
    const renamed = newName('renamed')
    assert.equal((await admin.patch(`iam/groups/${one.uid}`, { name: renamed })).body.name, renamed)
    // The name that it had is free again, and its new one is not.
    await admin.create('iam/groups', { name: one.name })
    assertError(await admin.post('iam/groups', { name: renamed }), alreadyExistsError(TYPE, one.uid))
    // A group inside an organization is no sibling of it.
    await one.owner.api.create(`iam/groups/${one.uid}`, { name: renamed })
  })

  test('only administrators of the platform create organizations, and become their owners', async () => {
    const { owner } = await cast().organization()
    const name = newName('founded')
    const refused = await cast().writesNothing(() => owner.api.post('iam/groups', { name }))
    assertError(refused, permissionDeniedError)
    const { admin, berth } = cast()
    const { uid } = await admin.create('iam/groups', { name })
    const { body } = await admin.get('iam/roleBindings', { group: uid })
    assert.deepEqual(
      body.roleBindings.map((binding: Record<string, string>) => [
        binding['identityUid'],
        binding['roleUid'],
      ]),
      [[berth.owner, managedRole('owner')]],
    )
    assert.equal((await admin.delete(`iam/groups/${uid}`)).status, 200)
    assert.deepEqual((await admin.get('iam/roleBindings', { group: uid })).body.roleBindings, [])
    await admin.create('iam/groups', { name })
  })

  test('each kind of child blocks the deletion of its group; an empty group can be deleted', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const children: readonly [path: string, body: (group: string) => Promise<unknown>, word: string][] = [
      ['iam/groups', async () => ({ name: 'child' }), 'groups'],
      ['iam/identities', async () => ({ name: 'robot', claimMatch }), 'identities'],
      ['iam/roles', async () => ({ name: 'reader', capabilities: ['CAP_IAM_GROUPS_LIST'] }), 'roles'],
      [
        'iam/roleBindings',
        async () => ({ identityUid: owner.uid, roleUid: managedRole('viewer') }),
        'role bindings',
      ],
      ['registry/repos', async () => ({ name: 'nginx' }), 'repos'],
    ]
    for (const [path, body, word] of children) {
      const { uid } = await api.create(`iam/groups/${root}`, { name: newName('g') })
      const child = await api.create(`${path}/${uid}`, await body(uid))
      const refused = await cast().writesNothing(() => api.delete(`iam/groups/${uid}`))
      assertError(refused, failedPreconditionError('RESOURCE_NOT_EMPTY'))
      assert.match(refused.body.message, new RegExp(`contains ${word}$`))
      assert.equal((await api.delete(`${path}/${child.uid}`)).status, 200)
      assert.equal((await api.delete(`iam/groups/${uid}`)).status, 200, word)
    }
  })

  test('a created binding blocks the deletion of an organization; that of its creator does not', async () => {
    const { admin, berth } = cast()
    const { uid } = await admin.create('iam/groups', { name: newName('held') })
    const binding = await admin.create(`iam/roleBindings/${uid}`, {
      identityUid: berth.owner,
      roleUid: managedRole('viewer'),
    })
    assertError(await admin.delete(`iam/groups/${uid}`), failedPreconditionError('RESOURCE_NOT_EMPTY'))
    await admin.delete(`iam/roleBindings/${binding.uid}`)
    assert.equal((await admin.delete(`iam/groups/${uid}`)).status, 200)
  })

  test('an update changes the named fields only', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const cases: readonly [body: object, mask: string | undefined, name: string, description: string][] = [
      [{ description: 'new' }, undefined, 'team', 'new'],
      [{ description: '' }, undefined, 'team', ''],
      [{ description: null }, undefined, 'team', ''],
      [{ name: 'other', description: 'new' }, 'description', 'team', 'new'],
      [{ name: 'other' }, 'name', 'other', 'old'],
      [{ name: 'other' }, 'description', 'team', ''],
      [{ name: 'other' }, 'name,description', 'other', ''],
      [{ name: 'other' }, '*', 'other', ''],
      [{ name: 'other', description: 'new' }, '', 'other', 'new'],
      [{}, undefined, 'team', 'old'],
      [{ description: 'new', uid: 'x', createTime: '2001-01-01T00:00:00Z' }, undefined, 'team', 'new'],
      [{ description: 'new' }, 'description,uid,createTime,update_time,status', 'team', 'new'],
    ]
    for (const [body, mask, name, description] of cases) {
      const made = await api.create(`iam/groups/${root}`, { name: 'team', description: 'old' })
      cast().berth.advance(10)
      const { status, body: updated, text } = await api.patch(`iam/groups/${made.uid}`, body, mask)
      assert.equal(status, 200, text)
      const changed = name !== 'team' || description !== 'old'
      assert.deepEqual(
        updated,
        { ...made, name, description, updateTime: updated.updateTime },
        JSON.stringify([body, mask]),
      )
      assert.equal(
        updated.updateTime > made.updateTime,
        changed,
        'updateTime moves when something was written',
      )
      assert.deepEqual((await api.get(`iam/groups/${made.uid}`)).body, updated)
      assert.equal((await api.delete(`iam/groups/${made.uid}`)).status, 200)
    }
  })

  test('a mask that names no field of a group is rejected', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    for (const mask of ['nope', 'name.x', '*,name', 'resourceLimits.x', 'name,']) {
      const refused = await cast().writesNothing(() =>
        owner.api.patch(`iam/groups/${uid}`, { name: 'b' }, mask),
      )
      assertError(refused, invalidFieldError('updateMask'))
      // Reported as the caller spelled it.
      if (mask.includes('.')) assert.ok(refused.body.message.includes(`"${mask}"`), refused.text)
    }
    assertError(await owner.api.patch(`iam/groups/${uid}`, {}, 'name'), invalidFieldError('name'))
  })

  test('R18: verified and kind are for the operator, on organizations only', async () => {
    const { owner, uid: root } = await cast().organization()
    const { admin } = cast()
    const { uid } = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    await cast().writesNothing(async () => {
      for (const body of [
        { verified: true },
        { kind: 'ORG_KIND_CUSTOMER' },
        { verified: true, kind: 'ORG_KIND_DEV' },
      ]) {
        for (const mask of [undefined, Object.keys(body).join(','), '*']) {
          for (const target of [root, uid])
            assertError(
              await owner.api.patch(`iam/groups/${target}`, { name: 'team', ...body }, mask),
              permissionDeniedError,
            )
        }
        assertError(
          await owner.api.post(`iam/groups/${root}`, { name: 'new', ...body }),
          permissionDeniedError,
        )
        const [first = ''] = Object.keys(body)
        assertError(await admin.patch(`iam/groups/${uid}`, body), invalidFieldError(first))
        assertError(
          await admin.post(`iam/groups/${root}`, { name: 'new', ...body }),
          invalidFieldError(first),
        )
      }
      // Verified says what kind of organization was verified.
      assertError(await admin.patch(`iam/groups/${root}`, { verified: true }), invalidFieldError('kind'))
      assertError(
        await admin.post('iam/groups', { name: newName('v'), verified: true }),
        invalidFieldError('kind'),
      )
      assertError(await admin.post('iam/groups', { name: newName('v'), kind: 99 }), invalidFieldError('kind'))
      assertError(await admin.patch(`iam/groups/${root}`, { kind: 99 }), invalidFieldError('kind'))
    })
    const verified = await admin.patch(`iam/groups/${root}`, { verified: true, kind: 'ORG_KIND_CUSTOMER' })
    assert.deepEqual([verified.body.verified, verified.body.kind], [true, 'ORG_KIND_CUSTOMER'])
    // Sending the current values changes nothing, so every caller may.
    const restated = await owner.api.patch(
      `iam/groups/${root}`,
      { name: verified.body.name, description: 'd', verified: true, kind: OrgKind.CUSTOMER },
      '*',
    )
    assert.deepEqual([restated.status, restated.body.description], [200, 'd'], restated.text)
    assertError(await owner.api.patch(`iam/groups/${root}`, { name: 'gone' }, '*'), permissionDeniedError)
    assertError(await owner.api.patch(`iam/groups/${root}`, { verified: false }), permissionDeniedError)
  })

  test('T1: only the operator renames a verified organization; every caller may send the same name', async () => {
    const { owner, uid: root, name } = await cast().organization()
    const { admin, grpc } = cast()
    await admin.patch(`iam/groups/${root}`, { verified: true, kind: 'ORG_KIND_CUSTOMER' })
    const update = (group: object) =>
      grpc.call(
        GroupsService.method.updateGroup,
        { group: { uid: root, ...group }, updateMask: { paths: ['name', 'description', 'verified'] } },
        { token: owner.api.token },
      )
    const kept = await update({ name, description: 'new', verified: true })
    assert.deepEqual([kept.name, kept.description, kept.verified], [name, 'new', true])
    const other = newName('other')
    await cast().writesNothing(async () => {
      await assert.rejects(update({ name: other, description: 'new', verified: true }), { code: 7 })
      for (const mask of [undefined, 'name', '*'])
        assertError(
          await owner.api.patch(
            `iam/groups/${root}`,
            { name: other, verified: true, kind: 'ORG_KIND_CUSTOMER' },
            mask,
          ),
          permissionDeniedError,
        )
    })
    // A group in it is its members' to name.
    const { uid } = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    assert.equal((await owner.api.patch(`iam/groups/${uid}`, { name: 'crew' })).status, 200)
    assert.equal((await admin.patch(`iam/groups/${root}`, { name: other })).body.name, other)
    await admin.patch(`iam/groups/${root}`, { verified: false })
    assert.equal((await owner.api.patch(`iam/groups/${root}`, { name })).body.name, name)
  })

  test('a parent is given by its uid, the end of it, or its name', async () => {
    const { owner, uid: root, name } = await cast().organization()
    const { api } = owner
    const team = await api.create(`iam/groups/${root}`, { name: newName('my team') })
    const inner = await api.create(`iam/groups/${team.uid}`, { name: newName('inner') })
    const ending = (uid: string, segments: number) => uid.split('/').slice(-segments).join('/')
    for (const [parent, wanted] of [
      [root, root],
      [name, root],
      [inner.uid, inner.uid],
      [ending(inner.uid, 1), inner.uid],
      [ending(inner.uid, 2), inner.uid],
      [ending(team.uid, 1), team.uid],
      [encodeURIComponent(team.name), team.uid],
      [inner.name, inner.uid],
    ]) {
      const { uid } = await api.create(`iam/groups/${parent}`, { name: newName('new') })
      assert.equal(uid.slice(0, -17), wanted, parent)
    }
    const { createGroup } = GroupsService.method
    const request = { parent: team.name, group: { name: newName('new') } }
    const { uid } = await cast().grpc.call(createGroup, request, { token: api.token })
    assert.equal(uid.slice(0, -17), team.uid)
  })

  test('an ambiguous parent is rejected with a message that says so', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const [a, b] = [
      await api.create(`iam/groups/${root}`, { name: 'a' }),
      await api.create(`iam/groups/${root}`, { name: 'b' }),
    ]
    for (const { uid } of [a, b]) await api.create(`iam/groups/${uid}`, { name: 'twin' })
    // Looks like a segment of a uid, and is the name of another group as well.
    const segment = a.uid.slice(-16)
    await api.create(`iam/groups/${root}`, { name: segment })
    for (const parent of ['twin', segment]) {
      const refused = await cast().writesNothing(() => api.post(`iam/groups/${parent}`, { name: 'new' }))
      assertError(refused, invalidFieldError('parent'))
      assert.match(refused.body.message, /ambiguous/)
    }
    await api.create(`iam/groups/${a.uid}`, { name: 'new' })
  })

  test('a create with a key is repeated although its parent has become ambiguous', async () => {
    const { owner, uid: root } = await cast().organization()
    const name = newName('team')
    await owner.api.create(`iam/groups/${root}`, { name })
    const send = () =>
      fetch(`${cast().berth.url}/iam/v2beta1/groups/${name}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${owner.api.token}`, 'idempotency-key': name },
        body: JSON.stringify({ name }),
      }).then(async (reply) => [reply.status, await reply.text()])
    const first = await send()
    assert.equal(first[0], 200)
    assert.deepEqual(await send(), first)
  })

  test('R17: a name or the end of a uid finds nothing where the caller may not create groups', async () => {
    const [mine, theirs] = [await cast().organization(), await cast().organization()]
    const hidden = await theirs.owner.api.create(`iam/groups/${theirs.uid}`, { name: newName('hidden') })
    const beside = await mine.owner.api.create(`iam/groups/${mine.uid}`, { name: newName('beside') })
    const team = await mine.owner.api.create(`iam/groups/${mine.uid}`, { name: newName('team') })
    const lead = await mine.member('owner', team.uid)
    const viewer = await mine.member('viewer')
    const answers = new Set<string>()
    await cast().writesNothing(async () => {
      for (const api of [mine.owner.api, lead.api, viewer.api]) {
        for (const parent of [
          hidden.name,
          hidden.uid.slice(-16),
          theirs.name,
          newName('nobody'),
          '0'.repeat(16),
        ]) {
          const refused = await api.post(`iam/groups/${parent}`, { name: 'new' })
          assertError(refused, permissionDeniedError)
          answers.add(refused.text.replaceAll(parent, '<parent>'))
        }
      }
      for (const parent of [beside.name, beside.uid.slice(-16), mine.name])
        assertError(await lead.api.post(`iam/groups/${parent}`, { name: 'new' }), permissionDeniedError)
    })
    assert.equal(answers.size, 1)
    await lead.api.create(`iam/groups/${team.name}`, { name: 'new' })
    // Callers who may create groups everywhere learn that it does not exist.
    const missing = newName('nobody')
    assertError(
      await cast().admin.post(`iam/groups/${missing}`, { name: 'new' }),
      notFoundError(TYPE, missing),
    )
    await cast().admin.create(`iam/groups/${hidden.name}`, { name: 'new' })
    await cast().admin.create(`iam/groups/${hidden.uid.slice(-16)}`, { name: 'other' })
  })

  test('subgroups report the kind of their organization', async () => {
    const { owner, uid: root } = await cast().organization()
    const before = await owner.api.create(`iam/groups/${root}`, { name: 'before' })
    await cast().admin.patch(`iam/groups/${root}`, { kind: 'ORG_KIND_STARTER' })
    const later = await owner.api.create(`iam/groups/${before.uid}`, { name: 'later' })
    assert.equal(later.kind, 'ORG_KIND_STARTER')
    assert.equal((await owner.api.get(`iam/groups/${before.uid}`)).body.kind, 'ORG_KIND_STARTER')
    // It is no field of theirs that an update of everything could change.
    const path = `iam/groups/${later.uid}`
    const renamed = await owner.api.patch(path, { name: 's2' }, '*')
    assert.equal(renamed.status, 200, renamed.text)
    assert.deepEqual([renamed.body.name, renamed.body.kind], ['s2', 'ORG_KIND_STARTER'])
    await cast().writesNothing(async () => {
      assert.deepEqual((await owner.api.patch(path, { name: 's2' }, '*')).body, renamed.body)
      assertError(await owner.api.patch(path, { kind: 'ORG_KIND_DEV' }), permissionDeniedError)
    })
  })

  test('R18: no caller can set output-only fields', async () => {
    const { admin } = cast()
    const own = {
      uid: 'f'.repeat(40),
      createTime: '2001-01-01T00:00:00Z',
      updateTime: '2001-01-01T00:00:00Z',
      status: 'ORG_STATUS_SUSPENDED',
      resourceLimits: { identities: 1 },
    }
    const made = await admin.create('iam/groups', { name: newName('own'), ...own })
    assert.notEqual(made.uid, own.uid)
    assert.notEqual(made.createTime, own.createTime)
    assert.deepEqual([made.status, made.resourceLimits], ['ORG_STATUS_READY', {}])
    const starred = await admin.patch(
      `iam/groups/${made.uid}`,
      { name: made.name, description: 'd', ...own },
      '*',
    )
    assert.deepEqual(starred.body, { ...made, description: 'd', updateTime: starred.body.updateTime })
  })

  test('an organization has no ancestors', async () => {
    const { owner, uid: root } = await cast().organization()
    const { text } = await owner.api.get('iam/groups', { 'uidp.ancestors_of': root })
    assert.equal(text, '{"groups":[],"nextPageToken":"","totalCount":"0","skipped":0}')
  })

  test('each change writes one audit record, a failed or empty one none', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const { uid } = await api.create(`iam/groups/${root}`, { name: 'team' })
    await api.patch(`iam/groups/${uid}`, { description: 'd' })
    await cast().writesNothing(() => api.patch(`iam/groups/${uid}`, { description: 'd' }))
    await api.patch(`iam/groups/${uid}`, { name: '' })
    await api.delete(`iam/groups/${uid}`)
    await api.delete(`iam/groups/${uid}`)
    assert.deepEqual(
      (await cast().auditEventsOf(uid)).map(({ method, actor }) => [
        method.split('/')[1],
        actor === owner.uid,
      ]),
      [
        ['CreateGroup', true],
        ['UpdateGroup', true],
        ['DeleteGroup', true],
      ],
    )
  })

  test('of two concurrent groups with the same name one is created', async () => {
    const { owner, uid: root } = await cast().organization()
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => owner.api.post(`iam/groups/${root}`, { name: 'contested' })),
    )
    assert.deepEqual(replies.map(({ status }) => status).sort(), [
      200,
      ...Array.from({ length: 7 }, () => 409),
    ])
  })

  test('nothing is created in a group while it is deleted', async () => {
    const { owner, uid: root } = await cast().organization()
    for (let round = 0; round < 5; round++) {
      const { uid } = await owner.api.create(`iam/groups/${root}`, { name: newName('race') })
      const [made, deleted] = await Promise.all([
        owner.api.post(`registry/repos/${uid}`, { name: 'nginx' }),
        owner.api.delete(`iam/groups/${uid}`),
      ])
      assert.deepEqual(
        made.status === 200 ? [made.status, deleted.status] : [deleted.status, made.status],
        made.status === 200 ? [200, 400] : [200, 404],
      )
    }
  })
})

onEveryDatabase(
  'an open installation',
  (cast) => {
    test('lets every signed-in identity create an organization, which it then owns', async () => {
      const { owner } = await cast().organization()
      const { uid } = await owner.api.create('iam/groups', { name: newName('mine') })
      await owner.api.create(`iam/groups/${uid}`, { name: 'below' })
      assert.equal((await owner.api.get(`iam/groups/${uid}`)).status, 200)
    })

    test('lets no narrowed token create one: its creator gets more than the token allows', async () => {
      const { berth, organization } = cast()
      const { owner, uid } = await organization()
      const narrowed = apiOf(berth, await berth.tokenOf(owner.uid, { scopes: [uid] }))
      assertError(await narrowed.post('iam/groups', { name: newName('mine') }), permissionDeniedError)
    })
  },
  { env: { BERTH_OPEN_ORGANIZATIONS: 'true' } },
)

onEveryDatabase(
  'a parent among more groups than one statement reads',
  (cast) => {
    test('is found by its name and the end of its uid, with any binding of the caller', async () => {
      const organization = await cast().organization()
      const { owner, uid: root } = organization
      const made = []
      for (let at = 0; at < 12; at++)
        made.push(await owner.api.create(`iam/groups/${root}`, { name: newName('team') }))
      const lead = await organization.member('owner', made[0].uid)
      for (const group of made.slice(1, 10))
        await cast().admin.create(`iam/roleBindings/${group.uid}`, {
          identityUid: lead.uid,
          roleUid: managedRole('owner'),
        })
      for (const [at, { uid, name }] of made.entries()) {
        for (const parent of [name, uid.slice(-16)]) {
          for (const api of [owner.api, cast().admin, lead.api]) {
            const reply = await api.post(`iam/groups/${parent}`, { name: newName('new') })
            if (api === lead.api && at >= 10) assertError(reply, permissionDeniedError)
            else assert.equal(reply.body.uid?.slice(0, -17), uid, reply.text)
          }
        }
      }
    })
  },
  { sizes: { bucketRowsMax: 4, rowsInlineMax: 3, branchesMax: 2 } },
)
