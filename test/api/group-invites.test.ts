import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupInvitesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/group_invites_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { managedRoleByUid } from '@berth/server/iam/managed-roles.ts'
import {
  type Api,
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
import { call } from '../support/api/rest.ts'

const TYPE = 'iam.chainguard.dev/GroupInvite'
const ROLE = 'iam.chainguard.dev/Role'
const GROUP = 'iam.chainguard.dev/Group'
const viewer = managedRole('viewer')
const offer = { roleUid: viewer, ttl: '3600s' }
const ms = (time: string) => Date.parse(time)

onEveryDatabase('group invites', (cast) => {
  const rowOf = async (uid: string) =>
    cast()
      .berth.berth.installation.store.db.kysely.selectFrom('group_invites')
      .selectAll()
      .where('uid', '=', uid)
      .executeTakeFirstOrThrow()
  const ask = (verb: string, path: string, { token }: Api, headers: Record<string, string>, body?: unknown) =>
    call(verb, `${cast().berth.url}/${path.replace('/', '/v2beta1/')}`, {
      token,
      headers,
      ...(body === undefined ? {} : { body }),
    })

  test('create, get, list, update and delete return the exact JSON', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const group = await api.create(`iam/groups/${root}`, { name: 'team' })
    const custom = await api.create(`iam/roles/${root}`, {
      name: 'reader',
      description: 'Reads',
      capabilities: ['CAP_REPO_LIST', 'CAP_IAM_GROUPS_LIST'],
    })
    const created = await api.post(`iam/groupInvites/${group.uid}`, {
      roleUid: custom.uid,
      email: 'Ada@Example.com',
      ttl: '5400.0015s',
      singleUse: true,
    })
    assert.equal(created.status, 200, created.text)
    const { uid, code, link, keyId, createTime, expirationTime, ...rest } = created.body
    assert.equal(link, `${cast().berth.url}/invite#${code}`)
    assert.equal(uid.slice(0, -17), group.uid)
    assert.match(keyId, /^[0-9a-f]{16}$/)
    assert.match(createTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.equal(ms(expirationTime) - ms(createTime), 5_400_001)
    const role = {
      uid: custom.uid,
      name: 'reader',
      description: 'Reads',
      capabilities: ['CAP_IAM_GROUPS_LIST', 'CAP_REPO_LIST'],
    }
    assert.deepEqual(rest, { roleUid: custom.uid, role, email: 'Ada@Example.com', singleUse: true })
    const stored = { ...created.body, code: '', link: '' }
    assert.deepEqual((await api.get(`iam/groupInvites/${uid}`)).body, stored)
    const listed = await api.get('iam/groupInvites', { 'uidp.descendants_of': group.uid })
    assert.deepEqual(listed.body, {
      groupInvites: [stored],
      nextPageToken: '',
      totalCount: '1',
      skipped: 0,
    })
    const updated = await api.patch(`iam/groupInvites/${uid}`, { email: '', singleUse: false })
    assert.deepEqual(updated.body, { ...stored, email: '', singleUse: false })
    const deleted = await api.delete(`iam/groupInvites/${uid}`)
    assert.deepEqual([deleted.status, deleted.text], [200, ''])
    assertError(await api.get(`iam/groupInvites/${uid}`), notFoundError(TYPE, uid))
    assertError(await api.patch(`iam/groupInvites/${uid}`, {}), notFoundError(TYPE, uid))
    assertError(await api.delete(`iam/groupInvites/${uid}`), notFoundError(TYPE, uid))
    assert.notEqual(code, '')
  })

  test('the same over gRPC', async () => {
    const { owner, uid: root } = await cast().organization()
    const { token } = owner.api
    const { grpc } = cast()
    const service = GroupInvitesService.method
    const ttl = { seconds: 3600n, nanos: 1 }
    const created = await grpc.call(
      service.createGroupInvite,
      { parent: root, groupInvite: { roleUid: viewer, ttl } },
      { token },
    )
    assert.notEqual(created.code, '')
    assert.deepEqual([created.ttl, created.role?.name], [undefined, 'viewer'])
    const { uid } = created
    const stored = { ...created, code: '', link: '' }
    assert.deepEqual(await grpc.call(service.getGroupInvite, { uid }, { token }), stored)
    const listed = await grpc.call(service.listGroupInvites, { keyId: created.keyId }, { token })
    assert.deepEqual([listed.groupInvites, listed.totalCount], [[stored], 1n])
    const updated = await grpc.call(
      service.updateGroupInvite,
      { groupInvite: { uid, singleUse: true } },
      { token },
    )
    assert.deepEqual(updated, { ...stored, singleUse: true })
    const groupInvite = { roleUid: viewer, ttl: { seconds: 5n, nanos: -1 } }
    await assert.rejects(grpc.call(service.createGroupInvite, { parent: root, groupInvite }, { token }), {
      code: 3,
    })
    await grpc.call(service.deleteGroupInvite, { uid }, { token })
    await assert.rejects(grpc.call(service.getGroupInvite, { uid }, { token }), { code: 5 })
  })

  test('R25, R42: the code is shown once, names its group, and only its hash is stored', async () => {
    const { owner, uid: root } = await cast().organization()
    const made = await owner.api.create(`iam/groupInvites/${root}`, { ...offer, code: 'mine', keyId: 'mine' })
    const json = Buffer.from(made.code, 'base64').toString()
    assert.ok(json.startsWith('{"grp":'), json)
    const { grp, kid, key } = JSON.parse(json)
    assert.deepEqual([grp, kid], [root, made.keyId])
    const row = await rowOf(made.uid)
    assert.equal(row.code_hash.length, 32)
    const everywhere = []
    for (const table of ['group_invites', 'audit_events', 'idempotency_keys'] as const)
      everywhere.push(
        await cast().berth.berth.installation.store.db.kysely.selectFrom(table).selectAll().execute(),
      )
    for (const secret of [made.code, key]) {
      assert.ok(!JSON.stringify(everywhere).includes(secret))
      assert.ok(!Buffer.from(row.code_hash).includes(secret))
    }
    const other = await owner.api.create(`iam/groupInvites/${root}`, offer)
    assert.notEqual(other.code, made.code)
    assert.notEqual(other.keyId, made.keyId)
    for (const reply of [
      await owner.api.get(`iam/groupInvites/${made.uid}`),
      await owner.api.patch(`iam/groupInvites/${made.uid}`, { singleUse: true, code: 'x' }),
      await owner.api.get('iam/groupInvites'),
    ]) {
      assert.equal(reply.status, 200, reply.text)
      assert.ok(!reply.text.includes(made.code))
      assert.ok(!reply.text.includes(key))
    }
    assert.deepEqual((await rowOf(made.uid)).code_hash, row.code_hash)
  })

  test('an invalid invite is rejected, field by field, and nothing is written (inviteLifetimeMsMax, emailCharsMax)', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const { uid } = await api.create(`iam/groupInvites/${root}`, offer)
    const seconds = limits.inviteLifetimeMsMax / 1000
    const long = `a@${'b'.repeat(limits.emailCharsMax)}`
    const cases: readonly [body: object, ...fields: string[]][] = [
      [{}, 'roleUid', 'ttl'],
      [{ ttl: '1s' }, 'roleUid'],
      [{ ttl: '1s', roleUid: 'viewer' }, 'roleUid'],
      [{ ttl: '1s', roleUid: null }, 'roleUid'],
      [{ roleUid: viewer }, 'ttl'],
      [{ roleUid: viewer, ttl: null }, 'ttl'],
      [{ roleUid: viewer, ttl: '0s' }, 'ttl'],
      [{ roleUid: viewer, ttl: '0.000999s' }, 'ttl'],
      [{ roleUid: viewer, ttl: '-1s' }, 'ttl'],
      [{ roleUid: viewer, ttl: '-0.5s' }, 'ttl'],
      [{ roleUid: viewer, ttl: `${seconds}.001s` }, 'ttl'],
      [{ roleUid: viewer, ttl: '315576000000s' }, 'ttl'],
      [{ ...offer, email: 'ada' }, 'email'],
      [{ ...offer, email: 'Ada <ada@example.com>' }, 'email'],
      [{ ...offer, email: 'ada@example.com ' }, 'email'],
      [{ ...offer, email: long }, 'email'],
      [{ email: '@', ttl: '0s' }, 'roleUid', 'email', 'ttl'],
    ]
    await cast().writesNothing(async () => {
      for (const [body, ...fields] of cases) {
        assertError(await api.post(`iam/groupInvites/${root}`, body), invalidFieldError(...fields))
        assertError(await api.patch(`iam/groupInvites/${uid}`, body, '*'), invalidFieldError(...fields))
      }
      for (const [field, value] of [
        ['ttl', '1h'],
        ['ttl', 3600],
        ['singleUse', 'yes'],
        ['expires', '1s'],
      ])
        for (const reply of [
          await api.post(`iam/groupInvites/${root}`, { ...offer, [String(field)]: value }),
          await api.patch(`iam/groupInvites/${uid}`, { [String(field)]: value }),
        ])
          assertError(reply, invalidFieldError(String(field)))
      assertError(await api.patch(`iam/groupInvites/${uid}`, {}, 'ttl'), invalidFieldError('ttl'))
      assertError(await api.patch(`iam/groupInvites/${uid}`, { ttl: null }), invalidFieldError('ttl'))
      assertError(await api.patch(`iam/groupInvites/${uid}`, { ttl: '0s' }), invalidFieldError('ttl'))
      assertError(await api.patch(`iam/groupInvites/${uid}`, {}, 'role_uid'), invalidFieldError('roleUid'))
      assertError(await api.patch(`iam/groupInvites/${uid}`, {}, 'nope'), invalidFieldError('updateMask'))
      assertError(
        await api.patch(`iam/groupInvites/${uid}`, {}, 'ttl.seconds'),
        invalidFieldError('updateMask'),
      )
      const gone = `${root}/0123456789abcdef`
      // A missing group is reported before violations in the invite.
      for (const body of [offer, {}])
        assertError(await api.post(`iam/groupInvites/${gone}`, body), notFoundError(GROUP, gone))
      for (const roleUid of ['f'.repeat(40), `${root}/0123456789abcdef`, uid, root, owner.uid]) {
        assertError(
          await api.post(`iam/groupInvites/${root}`, { ...offer, roleUid }),
          notFoundError(ROLE, roleUid),
        )
        assertError(await api.patch(`iam/groupInvites/${uid}`, { roleUid }), notFoundError(ROLE, roleUid))
      }
    })
    for (const [ttl, lifetime] of [
      ['0.001s', 1],
      [`${seconds}s`, limits.inviteLifetimeMsMax],
      ['604799.987654321s', 604_799_987],
    ] as const) {
      const made = await api.create(`iam/groupInvites/${root}`, { roleUid: viewer, ttl })
      assert.equal(ms(made.expirationTime) - ms(made.createTime), lifetime)
    }
  })

  test('an update changes the named fields only, and a ttl starts now', async () => {
    const { owner, uid: root } = await cast().organization()
    const pull = managedRole('registry.pull')
    const email = 'ada@example.com'
    const cases: readonly [body: object, mask: string | undefined, wanted: object, prolonged: boolean][] = [
      [{ singleUse: true }, undefined, { singleUse: true }, false],
      [{ email: 'bob@example.com' }, undefined, { email: 'bob@example.com' }, false],
      [{ email: '' }, undefined, { email: '' }, false],
      [{ email: null }, undefined, { email: '' }, false],
      [{ roleUid: pull }, undefined, { roleUid: pull }, false],
      [{ roleUid: pull, email: 'x', ttl: '0s' }, 'roleUid', { roleUid: pull }, false],
      [{ email: 'bob@example.com' }, 'single_use', {}, false],
      [{ ttl: '7200s' }, undefined, {}, true],
      [{ ttl: '7200s', singleUse: true }, 'ttl', {}, true],
      [{ ttl: '7200s', singleUse: true }, 'single_use', { singleUse: true }, false],
      [{ roleUid: pull, ttl: '7200s' }, '*', { roleUid: pull, email: '' }, true],
      [
        { uid: 'x', code: 'x', keyId: 'x', role: { name: 'x' }, createTime: '2001-01-01T00:00:00Z' },
        'uid,code,key_id,role,create_time,expiration_time',
        {},
        false,
      ],
      [{ keyId: 'x', expirationTime: '2001-01-01T00:00:00Z', role: { uid: 'x' } }, undefined, {}, false],
      [{}, undefined, {}, false],
    ]
    for (const [body, mask, wanted, prolonged] of cases) {
      const what = JSON.stringify([body, mask])
      const made = await owner.api.create(`iam/groupInvites/${root}`, { ...offer, email })
      cast().berth.advance(1000)
      const path = `iam/groupInvites/${made.uid}`
      const { status, body: updated, text } = await owner.api.patch(path, body, mask)
      assert.equal(status, 200, text)
      const { role, expirationTime, ...rest } = updated
      const { role: _role, expirationTime: earlier, ...before } = made
      assert.deepEqual(rest, { ...before, code: '', link: '', ...wanted }, what)
      assert.deepEqual([role.uid, role.name], [rest.roleUid, managedRoleByUid.get(rest.roleUid)?.name], what)
      assert.deepEqual((await owner.api.get(path)).body, updated, what)
      if (!prolonged) assert.equal(expirationTime, earlier, what)
      else {
        const countedFrom = ms(expirationTime) - 7_200_000
        assert.ok(countedFrom >= ms(made.createTime) + 1000, what)
        assert.ok(countedFrom <= (await rowOf(made.uid)).updated_ms, what)
      }
    }
  })

  test('an expired invite stays listed, can be deleted, and cannot be accepted', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const made = await api.create(`iam/groupInvites/${root}`, { ...offer, ttl: '60s' })
    cast().berth.advance(60_000)
    const path = `iam/groupInvites/${made.uid}`
    assert.deepEqual((await api.get(path)).body, { ...made, code: '', link: '' })
    const listed = await api.get('iam/groupInvites', { 'uidp.descendants_of': root })
    assert.deepEqual([listed.body.groupInvites.length, listed.body.totalCount], [1, '1'])
    await cast().writesNothing(async () => {
      for (const body of [{ ttl: '3600s' }, { singleUse: true }, { email: 'ada@example.com' }])
        assertError(await api.patch(path, body), failedPreconditionError('INVITE_EXPIRED'))
      assertError(await api.patch(path, offer, '*'), failedPreconditionError('INVITE_EXPIRED'))
    })
    assert.equal((await api.delete(path)).status, 200)
  })

  test('a list is filtered by group and by key, and ordered by time or uid', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const team = await api.create(`iam/groups/${root}`, { name: 'team' })
    const made: { uid: string; keyId: string; createTime: string }[] = []
    for (const group of [root, team.uid, root, team.uid]) {
      made.push(await api.create(`iam/groupInvites/${group}`, offer))
      cast().berth.advance(10)
    }
    const uids = made.map(({ uid }) => uid)
    const list = async (query: Record<string, string | string[]>) => {
      const { status, body, text } = await api.get('iam/groupInvites', query)
      assert.equal(status, 200, text)
      assert.equal(Number(body.totalCount), body.groupInvites.length)
      for (const invite of body.groupInvites) {
        assert.equal(invite.code, '')
        assert.deepEqual((await api.get(`iam/groupInvites/${invite.uid}`)).body, invite)
      }
      return body.groupInvites.map(({ uid }: { uid: string }) => uid)
    }
    const newest = uids.toReversed()
    assert.deepEqual(await list({}), newest)
    for (const field of ['created_at', 'create_time', 'createTime']) {
      assert.deepEqual(await list({ order_by: field }), uids)
      assert.deepEqual(await list({ order_by: `${field} desc` }), newest)
    }
    assert.deepEqual(await list({ order_by: 'uid' }), uids.toSorted())
    assert.deepEqual(await list({ order_by: 'uid desc' }), uids.toSorted().reverse())
    assert.deepEqual(await list({ 'uidp.children_of': root }), [uids[2], uids[0]])
    assert.deepEqual(await list({ 'uidp.descendants_of': team.uid }), [uids[3], uids[1]])
    assert.deepEqual(await list({ 'uidp.descendants_of': root }), newest)
    assert.deepEqual(await list({ 'uidp.ancestors_of': root }), [uids[2], uids[0]])
    assert.deepEqual(await list({ 'uidp.ids': [String(uids[1]), String(uids[2])] }), [uids[2], uids[1]])
    assert.deepEqual(await list({ 'uidp.in_root': 'true' }), [])
    for (const { uid, keyId } of made) {
      assert.deepEqual(await list({ key_id: keyId }), [uid])
      assert.deepEqual(await list({ key_id: keyId, 'uidp.ids': uid }), [uid])
    }
    assert.deepEqual(await list({ key_id: 'nobody' }), [])
    assert.deepEqual(await list({ key_id: String(made[0]?.keyId), 'uidp.descendants_of': team.uid }), [])
    for (const order_by of ['email', 'expiration_time', 'code_hash', 'created_at down'])
      assertError(await api.get('iam/groupInvites', { order_by }), invalidFieldError('order_by'))
    const first = await api.get('iam/groupInvites', { page_size: '3' })
    const page_token = first.body.nextPageToken
    const second = await api.get('iam/groupInvites', { page_size: '3', page_token })
    assert.deepEqual(
      [...first.body.groupInvites, ...second.body.groupInvites].map(({ uid }) => uid),
      newest,
    )
  })

  test('an invite stays when its role is deleted, and then shows none', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const role = await api.create(`iam/roles/${root}`, { name: 'short', capabilities: ['CAP_REPO_LIST'] })
    const { uid } = await api.create(`iam/groupInvites/${root}`, { ...offer, roleUid: role.uid })
    await api.patch(`iam/roles/${role.uid}`, { name: 'renamed' })
    assert.equal((await api.get(`iam/groupInvites/${uid}`)).body.role.name, 'renamed')
    assert.equal((await api.delete(`iam/roles/${role.uid}`)).status, 200)
    const { body } = await api.get(`iam/groupInvites/${uid}`)
    assert.deepEqual([body.roleUid, 'role' in body], [role.uid, false])
    const listed = await api.get('iam/groupInvites', { 'uidp.ids': uid })
    assert.deepEqual(listed.body.groupInvites, [body])
    await cast().writesNothing(async () =>
      assertError(
        await api.patch(`iam/groupInvites/${uid}`, { singleUse: true }),
        notFoundError(ROLE, role.uid),
      ),
    )
    const given = await api.patch(`iam/groupInvites/${uid}`, { roleUid: viewer })
    assert.equal(given.body.role.name, 'viewer')
  })

  test('only callers with the capability are allowed', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const team = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const made = await owner.api.create(`iam/groupInvites/${root}`, offer)
    const inTeam = await owner.api.create(`iam/groupInvites/${team.uid}`, offer)
    const path = `iam/groupInvites/${made.uid}`
    const reader = await organization.member('viewer')
    const lead = await organization.member('owner', team.uid)
    const unprivileged = await owner.api.create(`iam/identities/${root}`, { name: 'nobody', claimMatch })
    const unprivilegedApi = apiOf(cast().berth, await cast().berth.tokenOf(unprivileged.uid))
    await cast().writesNothing(async () => {
      for (const api of [reader.api, unprivilegedApi]) {
        assertError(await api.post(`iam/groupInvites/${root}`, offer), permissionDeniedError)
        assertError(await api.patch(path, { singleUse: true }), permissionDeniedError)
        assertError(await api.delete(path), permissionDeniedError)
      }
      assertError(await unprivilegedApi.get(path), permissionDeniedError)
      assert.equal((await unprivilegedApi.get('iam/groupInvites')).body.totalCount, '0')
      assert.equal((await reader.api.get(path)).status, 200)
      assert.equal((await reader.api.get('iam/groupInvites')).body.totalCount, '2')
      // Rights in a team end at the team.
      assertError(await lead.api.post(`iam/groupInvites/${root}`, offer), permissionDeniedError)
      assertError(await lead.api.get(path), permissionDeniedError)
      const { body } = await lead.api.get('iam/groupInvites')
      assert.deepEqual(body.groupInvites, [{ ...inTeam, code: '', link: '' }])
    })
    // Inviting needs the right to bind as well.
    for (const lacking of ['CAP_IAM_ROLE_BINDINGS_CREATE', 'CAP_IAM_GROUP_INVITES_CREATE']) {
      const role = await owner.api.create(`iam/roles/${root}`, {
        name: newName('inviter'),
        capabilities: [
          'CAP_REPO_LIST',
          ...['CAP_IAM_ROLE_BINDINGS_CREATE', 'CAP_IAM_GROUP_INVITES_CREATE'].filter(
            (one) => one !== lacking,
          ),
        ],
      })
      const half = await organization.member(role.uid)
      const reply = await half.api.post(`iam/groupInvites/${root}`, { ...offer, roleUid: role.uid })
      assertError(reply, permissionDeniedError)
      assertError(await half.api.patch(path, { singleUse: true }), permissionDeniedError)
    }
    assert.equal((await lead.api.delete(`iam/groupInvites/${inTeam.uid}`)).status, 200)
  })

  test('R19: an invite cannot grant more than its creator holds there', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const team = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const inviting = ['CAP_IAM_GROUP_INVITES_CREATE', 'CAP_IAM_ROLE_BINDINGS_CREATE', 'CAP_REPO_LIST']
    const inviter = await owner.api.create(`iam/roles/${root}`, { name: 'inviter', capabilities: inviting })
    const small = await owner.api.create(`iam/roles/${root}`, { name: 's', capabilities: ['CAP_REPO_LIST'] })
    const inTeam = await owner.api.create(`iam/roles/${team.uid}`, {
      name: 't',
      capabilities: ['CAP_REPO_LIST'],
    })
    const member = await organization.member(inviter.uid)
    const own = await member.api.create(`iam/groupInvites/${root}`, { ...offer, roleUid: small.uid })
    await member.api.create(`iam/groupInvites/${team.uid}`, { ...offer, roleUid: inTeam.uid })
    const strong = await owner.api.create(`iam/groupInvites/${root}`, offer)
    await cast().writesNothing(async () => {
      for (const role of ['viewer', 'owner', 'editor', 'registry.pull']) {
        const roleUid = managedRole(role)
        assertError(
          await member.api.post(`iam/groupInvites/${root}`, { ...offer, roleUid }),
          permissionDeniedError,
        )
        for (const [body, mask] of [
          [{ roleUid }, undefined],
          [{ roleUid }, 'role_uid'],
          [{ ...offer, roleUid }, '*'],
        ] as const)
          assertError(
            await member.api.patch(`iam/groupInvites/${own.uid}`, body, mask),
            permissionDeniedError,
          )
      }
      // Saying anew who may have a strong role, or for how long, is promising it, too.
      for (const body of [{ email: 'mallory@example.com' }, { ttl: '7200s' }, { singleUse: true }])
        assertError(await member.api.patch(`iam/groupInvites/${strong.uid}`, body), permissionDeniedError)
      // A role of a group below or beside is not there.
      for (const api of [member.api, owner.api]) {
        const body = { ...offer, roleUid: inTeam.uid }
        assertError(await api.post(`iam/groupInvites/${root}`, body), notFoundError(ROLE, inTeam.uid))
        assertError(await api.patch(`iam/groupInvites/${own.uid}`, body), notFoundError(ROLE, inTeam.uid))
      }
    })
    assert.equal((await member.api.patch(`iam/groupInvites/${own.uid}`, { ttl: '7200s' })).status, 200)
  })

  test('R17: invites and roles of another organization look as if they did not exist', async () => {
    const [mine, theirs] = [await cast().organization(), await cast().organization()]
    const role = await theirs.owner.api.create(`iam/roles/${theirs.uid}`, {
      name: 'r',
      capabilities: ['CAP_REPO_LIST'],
    })
    const invite = await theirs.owner.api.create(`iam/groupInvites/${theirs.uid}`, offer)
    const { api } = mine.owner
    const own = await api.create(`iam/groupInvites/${mine.uid}`, offer)
    await cast().writesNothing(async () => {
      for (const uid of [invite.uid, `${theirs.uid}/0123456789abcdef`, theirs.uid]) {
        assertError(await api.get(`iam/groupInvites/${uid}`), permissionDeniedError)
        assertError(await api.patch(`iam/groupInvites/${uid}`, { singleUse: true }), permissionDeniedError)
        assertError(await api.delete(`iam/groupInvites/${uid}`), permissionDeniedError)
      }
      assertError(await api.post(`iam/groupInvites/${theirs.uid}`, offer), permissionDeniedError)
      const body = { ...offer, roleUid: role.uid }
      assertError(await api.post(`iam/groupInvites/${mine.uid}`, body), notFoundError(ROLE, role.uid))
      assertError(await api.patch(`iam/groupInvites/${own.uid}`, body), notFoundError(ROLE, role.uid))
    })
    for (const query of [
      { key_id: invite.keyId },
      { 'uidp.ids': invite.uid },
      { 'uidp.descendants_of': theirs.uid },
      { 'uidp.children_of': theirs.uid },
    ]) {
      const { status, body } = await api.get('iam/groupInvites', query)
      assert.deepEqual([status, body.groupInvites, body.totalCount], [200, [], '0'])
    }
  })

  test('the etag of Create is that of Get, and guards Update and Delete', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const created = await api.post(`iam/groupInvites/${root}`, offer)
    const path = `iam/groupInvites/${created.body.uid}`
    const seen = created.headers.get('etag') ?? ''
    assert.match(seen, /^W\/"[^"]+"$/)
    assert.equal((await api.get(path)).headers.get('etag'), seen)
    assert.equal((await ask('GET', path, api, { 'if-none-match': seen })).status, 304)
    const first = await ask('PATCH', path, api, { 'if-match': seen }, { singleUse: true })
    assert.equal(first.status, 200, first.text)
    const fresh = first.headers.get('etag') ?? ''
    assert.notEqual(fresh, seen)
    assert.equal((await api.get(path)).headers.get('etag'), fresh)
    const mismatch = { status: 412, code: 9, violation: 'ETAG_MISMATCH' } as const
    await cast().writesNothing(async () => {
      for (const body of [{ email: 'ada@example.com' }, { ttl: '1s' }])
        assertError(await ask('PATCH', path, api, { 'if-match': seen }, body), mismatch)
      assertError(await ask('DELETE', path, api, { 'if-match': seen }), mismatch)
    })
    assert.equal((await ask('DELETE', path, api, { 'if-match': fresh })).status, 200)
  })

  test('a create that is repeated with its key returns the same code', async () => {
    const { owner, uid: root } = await cast().organization()
    const send = () =>
      ask('POST', `iam/groupInvites/${root}`, owner.api, { 'idempotency-key': 'invite' }, offer)
    const [first, again] = [await send(), await send()]
    assert.equal(first.status, 200, first.text)
    assert.equal(again.text, first.text)
    assert.equal((await owner.api.get('iam/groupInvites')).body.totalCount, '1')
  })

  test('open invites block the deletion of their group, expired ones are deleted with it', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const team = await api.create(`iam/groups/${root}`, { name: 'team' })
    const short = await api.create(`iam/groupInvites/${team.uid}`, { ...offer, ttl: '60s' })
    const long = await api.create(`iam/groupInvites/${team.uid}`, { ...offer, ttl: '600s' })
    const refused = async () => {
      const reply = await cast().writesNothing(() => api.delete(`iam/groups/${team.uid}`))
      assertError(reply, failedPreconditionError('RESOURCE_NOT_EMPTY'))
      assert.match(reply.body.message, /invites/)
    }
    await refused()
    cast().berth.advance(60_000)
    await refused()
    cast().berth.advance(540_000)
    const deleted = await api.delete(`iam/groups/${team.uid}`)
    assert.equal(deleted.status, 200, deleted.text)
    for (const { uid } of [short, long])
      assertError(await api.get(`iam/groupInvites/${uid}`), notFoundError(TYPE, uid))
    assert.equal((await api.get('iam/groupInvites')).body.totalCount, '0')
  })

  test('each change writes one audit record, a failed or empty one none', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const { uid } = await api.create(`iam/groupInvites/${root}`, offer)
    await api.patch(`iam/groupInvites/${uid}`, { singleUse: true })
    await cast().writesNothing(() =>
      api.patch(`iam/groupInvites/${uid}`, { singleUse: true, roleUid: viewer }),
    )
    await api.patch(`iam/groupInvites/${uid}`, { ttl: '0s' })
    await api.delete(`iam/groupInvites/${uid}`)
    assert.deepEqual(
      (await cast().auditEventsOf(uid)).map(({ method, actor }) => [method.split('/')[1], actor]),
      ['CreateGroupInvite', 'UpdateGroupInvite', 'DeleteGroupInvite'].map((name) => [name, owner.uid]),
    )
  })
})

let statements = 0
onEveryDatabase(
  'the cost of listing invites',
  (cast) => {
    test('is the same number of statements for any roles', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      for (let n = 0; n < 12; n++) {
        const role = await api.create(`iam/roles/${root}`, { name: `r${n}`, capabilities: ['CAP_REPO_LIST'] })
        for (const roleUid of [role.uid, viewer])
          await api.create(`iam/groupInvites/${root}`, { ...offer, roleUid })
      }
      const cost = async (query: Record<string, string>) => {
        await api.get('iam/groupInvites', query) // what is remembered of the caller is not the list's
        statements = 0
        const { status, body } = await api.get('iam/groupInvites', query)
        assert.equal(status, 200)
        return [statements, body.groupInvites.length]
      }
      const [one, few] = await cost({ page_size: '1' })
      assert.deepEqual([Number(one) <= 3, few], [true, 1])
      const [all, many] = await cost({ page_size: '200' })
      assert.deepEqual([Number(all) <= Number(one), many], [true, 24])
      const [filtered] = await cost({ page_size: '20', 'uidp.children_of': root })
      assert.ok(Number(filtered) <= 4)
    })
  },
  { only: 'sqlite', meter: { statement: () => statements++ } },
)
