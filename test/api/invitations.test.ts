import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { capabilitySetOf } from '@berth/contract/capabilities.ts'
import { InvitationsService } from '@berth/contract/gen/berth/iam/v1/invitations_pb.js'
import { Code } from '@berth/server/api/errors.ts'
import { randomUids, type Uid } from '@berth/server/api/uid.ts'
import { limits } from '@berth/server/config/limits.ts'
import { acceptInvite } from '@berth/server/iam/invitations.ts'
import { newInviteCode } from '@berth/server/iam/invites/invite-code.ts'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { organizationSettings } from '@berth/server/operator/organization-settings.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { deleteResource, insertResource, lockResource } from '@berth/server/storage/resource-rows.ts'
import type { Tables } from '@berth/server/storage/schema/tables.ts'
import fc from 'fast-check'
import {
  type Api,
  alreadyExistsError,
  apiOf,
  assertError,
  claimMatch,
  type ExpectedError,
  failedPreconditionError,
  invalidFieldError,
  managedRole,
  newName,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { rowOf } from '../support/database/hierarchy.ts'
import { createPerson, createSession, voucherOf } from '../support/signin/accounts.ts'

const viewer = managedRole('viewer')
const offer = { roleUid: viewer, ttl: '600s' }
const METHOD = 'berth.iam.v1.InvitationsService/AcceptGroupInvite'
const refused: ExpectedError = { status: 404, code: 5, resource: ['iam.chainguard.dev/GroupInvite', '*'] }
const accept = (api: Api, code: string) => api.post('iam/groupInvites:accept', { code })
const acceptReceived = (api: Api, uid: string) => api.post('iam/groupInvites:acceptReceived', { uid })
const received = async (api: Api): Promise<{ uid: string; inviter: string }[]> =>
  (await api.get('iam/groupInvites:findReceived')).body.invites

onEveryDatabase('accepting invites', (cast) => {
  const db = () => cast().berth.berth.installation.store.db

  /** A user without an organization, whose address is known from a sign-in. */
  async function person(email = '', unverified = ''): Promise<{ readonly uid: string; readonly api: Api }> {
    const uid = randomUids.root()
    const row = rowOf('identities', uid, { name: newName('person') }) as Tables['identities']
    await inTransaction(db(), (tx) =>
      insertResource(db(), tx, 'identities', {
        ...row,
        email,
        email_unverified: unverified,
        relationship: 0,
      }),
    )
    return { uid, api: apiOf(cast().berth, await cast().berth.tokenOf(uid)) }
  }

  test('R25: an organization’s own provider vouches for an address there, and nowhere else', async () => {
    const email = 'ceo@example.com'
    const issuer = `https://${newName('idp')}.example.com`
    const [own, other] = [await cast().organization(), await cast().organization()]
    const oidc = { issuer, clientId: 'berth', clientSecret: 'a secret' }
    const { uid: provider } = await own.owner.api.create(`iam/identityProviders/${own.uid}`, {
      name: newName('idp'),
      defaultRole: viewer,
      oidc,
    })
    const voucher = voucherOf(provider, email)
    const identity = await createPerson(cast().berth, { issuer, email, voucher })
    const { id } = await createSession(cast().berth, { identity, voucher })
    const api = apiOf(cast().berth, await cast().berth.tokenOf(identity, { session: id }))
    const invite = async ({ uid: group, owner }: typeof own) =>
      (await owner.api.create(`iam/groupInvites/${group}`, { ...offer, email })).code
    assertError(await accept(api, await invite(other)), refused)
    assert.equal((await accept(api, await invite(own))).status, 200)
  })

  const bindingsOf = async (identity: string) =>
    (await cast().admin.get('iam/roleBindings', { identity })).body.roleBindings

  test('a user gets the role of the invite at its group; an invite for many works repeatedly', async () => {
    const { owner, uid: root } = await cast().organization()
    const team = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const { code, uid } = await owner.api.create(`iam/groupInvites/${team.uid}`, offer)
    for (const { uid: identity, api } of [await person('ada@example.com'), await person()]) {
      assertError(await api.get(`iam/groups/${team.uid}`), permissionDeniedError)
      const { status, body, text } = await accept(api, code)
      assert.equal(status, 200, text)
      const { roleBinding } = body
      assert.equal(roleBinding.uid.slice(0, -17), team.uid)
      assert.deepEqual(
        [roleBinding.identity.uid, roleBinding.group.name, roleBinding.role.name],
        [identity, 'team', 'viewer'],
      )
      assert.deepEqual((await owner.api.get(`iam/roleBindings/${roleBinding.uid}`)).body, roleBinding)
      assert.equal((await api.get(`iam/groups/${team.uid}`)).status, 200)
      assertError(await api.get(`iam/groups/${root}`), permissionDeniedError)
      assert.deepEqual(await cast().auditEventsOf(roleBinding.uid), [{ method: METHOD, actor: identity }])
    }
    assert.equal((await owner.api.get(`iam/groupInvites/${uid}`)).status, 200)
    assert.equal((await cast().auditEventsOf(uid)).length, 1, 'only that it was made')
  })

  test('the same over gRPC', async () => {
    const { owner, uid: root } = await cast().organization()
    const { code } = await owner.api.create(`iam/groupInvites/${root}`, { ...offer, singleUse: true })
    const { uid, api } = await person()
    const { acceptGroupInvite } = InvitationsService.method
    const { token } = api
    const { roleBinding } = await cast().grpc.call(acceptGroupInvite, { code }, { token })
    assert.deepEqual([roleBinding?.identityUid, roleBinding?.roleUid], [uid, viewer])
    await assert.rejects(cast().grpc.call(acceptGroupInvite, { code }, { token }), { code: 5 })
    await assert.rejects(cast().grpc.call(acceptGroupInvite, { code }, {}), { code: 16 })
  })

  test('R25: a single-use invite is deleted when the first user accepts, and both changes are recorded', async () => {
    const { owner, uid: root } = await cast().organization()
    const { code, uid } = await owner.api.create(`iam/groupInvites/${root}`, { ...offer, singleUse: true })
    const [first, second] = [await person(), await person()]
    const { body } = await accept(first.api, code)
    assert.equal((await owner.api.get(`iam/groupInvites/${uid}`)).status, 404)
    await cast().writesNothing(async () => {
      for (const { api } of [first, second]) assertError(await accept(api, code), refused)
    })
    const records = [
      ...(await cast().auditEventsOf(body.roleBinding.uid)),
      ...(await cast().auditEventsOf(uid)).slice(1),
    ]
    const record = { method: METHOD, actor: first.uid }
    assert.deepEqual(records, [record, record])
  })

  test('R25: of a hundred users who accept one single-use invite concurrently, exactly one succeeds', async () => {
    const { owner, uid: root } = await cast().organization()
    const { code, uid } = await owner.api.create(`iam/groupInvites/${root}`, { ...offer, singleUse: true })
    const people = await Promise.all(Array.from({ length: 100 }, () => person()))
    const replies = await Promise.all(people.map(({ api }) => accept(api, code)))
    const winners = people.filter((_, at) => replies[at]?.status === 200)
    for (const reply of replies) if (reply.status !== 200) assertError(reply, refused)
    assert.equal(winners.length, 1)
    const { body } = await owner.api.get('iam/roleBindings', { group: root, role: viewer })
    assert.deepEqual(
      body.roleBindings.map(({ identityUid }: { identityUid: string }) => identityUid),
      [winners[0]?.uid],
    )
    assert.deepEqual((await cast().auditEventsOf(uid)).slice(1), [{ method: METHOD, actor: winners[0]?.uid }])
    assert.deepEqual(cast().berth.errors, [])
  })

  test('an invite for many can be accepted concurrently, by each user once', async () => {
    const { owner, uid: root } = await cast().organization()
    const { code } = await owner.api.create(`iam/groupInvites/${root}`, offer)
    const people = await Promise.all(Array.from({ length: 20 }, () => person()))
    const replies = await Promise.all([...people, ...people, ...people].map(({ api }) => accept(api, code)))
    assert.equal(replies.filter(({ status }) => status === 200).length, people.length)
    for (const reply of replies)
      if (reply.status !== 200) assertError(reply, alreadyExistsError('iam.chainguard.dev/RoleBinding', root))
    for (const { uid } of people) assert.equal((await bindingsOf(uid)).length, 1)
    assert.deepEqual(cast().berth.errors, [])
  })

  test('a user who has the role already gets an error, and the invite is not used up', async () => {
    const { owner, uid: root } = await cast().organization()
    const invite = await owner.api.create(`iam/groupInvites/${root}`, { ...offer, singleUse: true })
    const { uid, api } = await person()
    await owner.api.create(`iam/roleBindings/${root}`, { identityUid: uid, roleUid: viewer })
    await cast().writesNothing(async () =>
      assertError(await accept(api, invite.code), alreadyExistsError('iam.chainguard.dev/RoleBinding', root)),
    )
    // Another role there, or the same elsewhere, is something else.
    const other = await owner.api.create(`iam/groupInvites/${root}`, {
      ...offer,
      roleUid: managedRole('registry.pull'),
    })
    assert.equal((await accept(api, other.code)).status, 200)
    const team = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const below = await owner.api.create(`iam/groupInvites/${team.uid}`, offer)
    assert.equal((await accept(api, below.code)).status, 200)
    assert.equal((await accept((await person()).api, invite.code)).status, 200)
  })

  test('accepting and binding the same concurrently creates one binding', async () => {
    const { owner, uid: root } = await cast().organization()
    const { code } = await owner.api.create(`iam/groupInvites/${root}`, offer)
    for (let round = 0; round < 5; round++) {
      const { uid, api } = await person()
      const body = { identityUid: uid, roleUid: viewer }
      const replies = await Promise.all([
        owner.api.post(`iam/roleBindings/${root}`, body),
        accept(api, code),
        owner.api.post(`iam/roleBindings/${root}`, body),
        accept(api, code),
      ])
      assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 409, 409, 409])
      assert.equal((await bindingsOf(uid)).length, 1)
    }
    assert.deepEqual(cast().berth.errors, [])
  })

  test('R25: every code that cannot be accepted gets the same response, which does not repeat it, and writes nothing', async () => {
    const { owner, uid: root } = await cast().organization()
    const theirs = await cast().organization()
    const { api } = await person('ada@example.com')
    const made = async (more: object = {}) =>
      owner.api.create(`iam/groupInvites/${root}`, { ...offer, ...more })
    const used = await made({ singleUse: true })
    assert.equal((await accept((await person()).api, used.code)).status, 200)
    const deleted = await made()
    await owner.api.delete(`iam/groupInvites/${deleted.uid}`)
    const elsewhere = await made({ email: 'bob@example.com' })
    const [good, strangers] = [
      await made(),
      await theirs.owner.api.create(`iam/groupInvites/${theirs.uid}`, offer),
    ]
    const short = await made({ ttl: '1s' })
    cast().berth.advance(1000)
    const parts = (code: string) => JSON.parse(Buffer.from(code, 'base64').toString())
    const written = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64')
    const codes: Readonly<Record<string, string>> = {
      'used up': used.code,
      expired: short.code,
      deleted: deleted.code,
      'for the address of another user': elsewhere.code,
      rubbish: 'rubbish',
      binary: '\u0001\uFFFF',
      'the name of its key': good.keyId,
      'the uid of an invite': good.uid,
      'made up': newInviteCode(root as Uid).code,
      'of no organization': newInviteCode(randomUids.root()).code,
      'with the secret of another one': written({ ...parts(good.code), key: parts(strangers.code).key }),
      'with the key id of another one': written({ ...parts(good.code), kid: parts(elsewhere.code).kid }),
      'with another group': written({ ...parts(good.code), grp: theirs.uid }),
      'with a group below': written({ ...parts(good.code), grp: `${root}/0123456789abcdef` }),
      'with more in it': written({ ...parts(good.code), role: managedRole('owner') }),
      'without padding, or with more of it': good.code.endsWith('=')
        ? good.code.replaceAll('=', '')
        : `${good.code}=`,
      'with a line break': `${good.code}\n`,
      'too long (inviteCodeCharsMax)': 'A'.repeat(limits.inviteCodeCharsMax + 1),
    }
    const answers = new Set<string>()
    await cast().writesNothing(async () => {
      for (const [name, code] of Object.entries(codes)) {
        const reply = await accept(api, code)
        assert.equal(reply.status, 404, `${name}: ${reply.text}`)
        assertError(reply, refused)
        answers.add(reply.text)
        assert.ok(!reply.text.includes(JSON.stringify(code).slice(1, -1)), name)
      }
      for (const body of [{}, { code: '' }])
        assertError(await api.post('iam/groupInvites:accept', body), invalidFieldError('code'))
      assertError(
        await api.post('iam/groupInvites:accept', { code: good.code, role: 1 }),
        invalidFieldError('role'),
      )
    })
    assert.equal(answers.size, 1)
    assert.equal((await accept(api, good.code)).status, 200)
  })

  test('R25: no code with a changed character is accepted', async () => {
    const { owner, uid: root } = await cast().organization()
    const { code } = await owner.api.create(`iam/groupInvites/${root}`, offer)
    const { api } = await person()
    const base64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/='
    const changes = fc
      .tuple(fc.nat(code.length - 1), fc.constantFrom(...base64))
      .filter(([at, character]) => code[at] !== character)
    await cast().writesNothing(() =>
      fc.assert(
        fc.asyncProperty(changes, async ([at, character]) => {
          const reply = await accept(api, code.slice(0, at) + character + code.slice(at + 1))
          assertError(reply, refused)
        }),
        { numRuns: 60 },
      ),
    )
    assert.equal((await accept(api, code)).status, 200)
  })

  test('R16: an invite is rejected from its expiry on, and a new ttl applies', async () => {
    const { owner, uid: root } = await cast().organization()
    const { code, uid } = await owner.api.create(`iam/groupInvites/${root}`, { ...offer, ttl: '30s' })
    cast().berth.advance(15_000)
    assert.equal((await accept((await person()).api, code)).status, 200)
    await owner.api.patch(`iam/groupInvites/${uid}`, { ttl: '60s' })
    cast().berth.advance(30_000)
    assert.equal((await accept((await person()).api, code)).status, 200)
    cast().berth.advance(30_000)
    const { api } = await person()
    await cast().writesNothing(async () => assertError(await accept(api, code), refused))
    assert.equal((await owner.api.get(`iam/groupInvites/${uid}`)).status, 200)
  })

  test('an invite for an address is for the identity whose verified address it is, in any case', async () => {
    const { owner, uid: root } = await cast().organization()
    const email = 'Kay.S@Example.com'
    const { code, uid } = await owner.api.create(`iam/groupInvites/${root}`, {
      ...offer,
      email,
      singleUse: true,
    })
    const others = [
      await person(),
      await person('', email),
      await person('kay.t@example.com', email),
      await person(`${email} `),
      await person('\u212Aay.s@example.com'),
      await person('kay.\u017F@example.com'),
    ]
    await cast().writesNothing(async () => {
      for (const { api } of others) assertError(await accept(api, code), refused)
    })
    const { api } = await person('kAY.s@eXAMPLE.com', 'old@example.com')
    await owner.api.patch(`iam/groupInvites/${uid}`, { email: 'bob@example.com' })
    assertError(await accept(api, code), refused)
    await owner.api.patch(`iam/groupInvites/${uid}`, { email })
    assert.equal((await accept(api, code)).status, 200)
  })

  test('a user finds the invites for their address in all organizations, and accepts one without its code', async () => {
    const email = `${newName('ada')}@example.com`
    const [first, second] = [await cast().organization(), await cast().organization()]
    const team = await first.owner.api.create(`iam/groups/${first.uid}`, { name: 'team' })
    const { uid: later } = await second.owner.api.create(`iam/groupInvites/${second.uid}`, {
      ...offer,
      ttl: '1200s',
      email: email.toUpperCase(),
    })
    const { uid, expirationTime } = await first.owner.api.create(`iam/groupInvites/${team.uid}`, {
      ...offer,
      email,
      singleUse: true,
    })
    const { uid: identity, api } = await person(email)
    const found = await received(api)
    assert.deepEqual(
      found.map((invite) => invite.uid),
      [uid, later],
    )
    const names = { groupPath: `${first.name}/team`, roleName: 'viewer' }
    assert.deepEqual(found[0], { uid, ...names, inviter: found[0]?.inviter, expirationTime })
    assert.ok(found[0]?.inviter)
    const { status, body, text } = await acceptReceived(api, uid)
    assert.equal(status, 200, text)
    assert.deepEqual(
      [body.roleBinding.identity.uid, body.roleBinding.group.uid, body.roleBinding.role.name],
      [identity, team.uid, 'viewer'],
    )
    assert.equal((await first.owner.api.get(`iam/groupInvites/${uid}`)).status, 404)
    assert.deepEqual(
      (await received(api)).map((invite) => invite.uid),
      [later],
    )
    const grpc = { token: api.token }
    const { acceptReceivedInvite, findReceivedInvites } = InvitationsService.method
    const { roleBinding } = await cast().grpc.call(acceptReceivedInvite, { uid: later }, grpc)
    assert.equal(roleBinding?.identityUid, identity)
    // An invite for many stays; what the user has already is not offered again.
    assert.deepEqual((await cast().grpc.call(findReceivedInvites, {}, grpc)).invites, [])
    assertError(
      await acceptReceived(api, later),
      alreadyExistsError('iam.chainguard.dev/RoleBinding', second.uid),
    )
  })

  test('a user is shown a bounded number of invites, the first to expire (receivedInvitesMax)', async () => {
    const email = `${newName('many')}@example.com`
    const { owner, uid: root } = await cast().organization()
    const uids: string[] = []
    for (let n = 0; n <= limits.receivedInvitesMax; n += 1) {
      // Further apart than the creates, on a busy machine.
      const invite = { ...offer, ttl: `${7200 - 30 * n}s`, email }
      uids.unshift((await owner.api.create(`iam/groupInvites/${root}`, invite)).uid)
    }
    const { api } = await person(email)
    assert.deepEqual(
      (await received(api)).map(({ uid }) => uid),
      uids.slice(0, limits.receivedInvitesMax),
    )
  })

  test('an organization with many invites does not hide those of others', async () => {
    const email = `${newName('many')}@example.com`
    const [many, one] = [await cast().organization(), await cast().organization()]
    for (let n = 0; n <= limits.receivedInvitesMax; n += 1)
      await many.owner.api.create(`iam/groupInvites/${many.uid}`, { ...offer, email })
    const last = { ...offer, ttl: '7200s', email }
    const { uid } = await one.owner.api.create(`iam/groupInvites/${one.uid}`, last)
    const { api } = await person(email)
    const { invites, more } = (await api.get('iam/groupInvites:findReceived')).body
    assert.equal(invites.length, limits.receivedInvitesMax)
    assert.equal(invites.at(-1).uid, uid)
    assert.equal(more, true)
  })

  test('invites of other organizations do not hide those that a user of an organization’s provider can accept', async () => {
    const email = `${newName('hidden')}@example.com`
    const issuer = `https://${newName('idp')}.example.com`
    const [own, other] = [await cast().organization(), await cast().organization()]
    const oidc = { issuer, clientId: 'berth', clientSecret: 'a secret' }
    const provider = { name: newName('idp'), defaultRole: viewer, oidc }
    const { uid: providerUid } = await own.owner.api.create(`iam/identityProviders/${own.uid}`, provider)
    const voucher = voucherOf(providerUid, email)
    const identity = await createPerson(cast().berth, { issuer, email, voucher })
    const { id } = await createSession(cast().berth, { identity, voucher })
    const api = apiOf(cast().berth, await cast().berth.tokenOf(identity, { session: id }))
    for (let n = 0; n < limits.receivedInvitesMax; n += 1)
      await other.owner.api.create(`iam/groupInvites/${other.uid}`, { ...offer, email })
    const invite = { ...offer, email, ttl: '7200s' }
    const { uid } = await own.owner.api.create(`iam/groupInvites/${own.uid}`, invite)
    assert.deepEqual(
      (await received(api)).map((one) => one.uid),
      [uid],
    )
  })

  test('R25: an invite is neither found nor accepted without its code by others than its receiver', async () => {
    const email = `${newName('bob')}@example.com`
    const { owner, uid: root } = await cast().organization()
    const create = (more: object) =>
      owner.api.create(`iam/groupInvites/${root}`, { ...offer, email, ...more })
    const { uid: open } = await create({})
    const { uid: forAnyone } = await create({ email: '' })
    const { uid: expiring } = await create({ ttl: '1s' })
    const role = await owner.api.create(`iam/roles/${root}`, {
      name: newName('role'),
      capabilities: ['CAP_REPO_LIST'],
    })
    const { uid: ofDeletedRole } = await create({ roleUid: role.uid })
    assert.equal((await owner.api.delete(`iam/roles/${role.uid}`)).status, 200)
    await setTimeout(1100)
    const others = [await person(), await person('', email), await person('other@example.com')]
    await cast().writesNothing(async () => {
      for (const { api } of others) {
        assert.deepEqual(await received(api), [])
        for (const uid of [open, forAnyone, expiring, `${root}/0123456789abcdef`])
          assertError(await acceptReceived(api, uid), refused)
      }
    })
    const { api, uid: identity } = await person(email)
    assert.deepEqual(
      (await received(api)).map(({ uid }) => uid),
      [open],
    )
    await cast().writesNothing(async () => {
      assertError(await acceptReceived(api, forAnyone), refused)
      assertError(await acceptReceived(api, expiring), refused)
      assert.equal((await acceptReceived(api, ofDeletedRole)).body.code, 9)
      for (const uid of ['', 'x']) assertError(await acceptReceived(api, uid), invalidFieldError('uid'))
      const narrowed = apiOf(cast().berth, await cast().berth.tokenOf(identity, { scopes: [root] }))
      assert.deepEqual(await received(narrowed), [])
      assertError(await acceptReceived(narrowed, open), permissionDeniedError)
    })
  })

  test('invites of a suspended organization and of its folders are neither found nor accepted', async () => {
    const email = `${newName('eve')}@example.com`
    const { owner, uid: root } = await cast().organization()
    const team = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const invites = [
      await owner.api.create(`iam/groupInvites/${root}`, { ...offer, email }),
      await owner.api.create(`iam/groupInvites/${team.uid}`, { ...offer, email }),
    ]
    const { installation } = cast().berth.berth
    await organizationSettings(installation, root, { status: 'suspended', limits: new Map() })
    const { api } = await person(email)
    assert.deepEqual(await received(api), [])
    await cast().writesNothing(async () => {
      for (const { uid, code } of invites) {
        assertError(await accept(api, code), refused)
        assertError(await acceptReceived(api, uid), refused)
      }
    })
  })

  test('R17: identities of the organization accept, those of another one do not', async () => {
    const [mine, theirs] = [await cast().organization(), await cast().organization()]
    const team = await mine.owner.api.create(`iam/groups/${mine.uid}`, { name: 'team' })
    const { code } = await mine.owner.api.create(`iam/groupInvites/${team.uid}`, offer)
    await cast().writesNothing(async () => assertError(await accept(theirs.owner.api, code), refused))
    const robot = await mine.owner.api.create(`iam/identities/${mine.uid}`, { name: 'robot', claimMatch })
    const api = apiOf(cast().berth, await cast().berth.tokenOf(robot.uid))
    assert.equal((await accept(api, code)).status, 200)
    // No permission in the group is needed, and none is sufficient: only the code is.
    assert.equal((await accept(mine.owner.api, code)).status, 200)
    const { code: stranger } = await theirs.owner.api.create(`iam/groupInvites/${theirs.uid}`, offer)
    await cast().writesNothing(async () => assertError(await accept(api, stranger), refused))
  })

  test('R19: a narrowed token cannot accept an invite', async () => {
    const { owner, uid: root } = await cast().organization()
    const { code } = await owner.api.create(`iam/groupInvites/${root}`, { ...offer, singleUse: true })
    const { uid, api } = await person()
    await cast().writesNothing(async () => {
      for (const options of [
        { scopes: [root] },
        { scopes: [] },
        { capabilities: capabilitySetOf([]) },
        { capabilities: managedRoleByName.get('owner')?.capabilities ?? 0n },
      ]) {
        const narrowed = apiOf(cast().berth, await cast().berth.tokenOf(uid, options))
        for (const one of [code, 'rubbish']) assertError(await accept(narrowed, one), permissionDeniedError)
      }
    })
    assert.equal((await accept(api, code)).status, 200)
  })

  test('accepting an invite whose role was deleted reports that, and the invite stays', async () => {
    const { owner, uid: root } = await cast().organization()
    const role = await owner.api.create(`iam/roles/${root}`, { name: 'r', capabilities: ['CAP_REPO_LIST'] })
    const invite = await owner.api.create(`iam/groupInvites/${root}`, {
      ...offer,
      roleUid: role.uid,
      singleUse: true,
      email: 'ada@example.com',
    })
    await owner.api.delete(`iam/roles/${role.uid}`)
    const [ada, bob] = [await person('ada@example.com'), await person('bob@example.com')]
    await cast().writesNothing(async () => {
      assertError(await accept(ada.api, invite.code), failedPreconditionError('ROLE_MISSING'))
      assertError(await accept(bob.api, invite.code), refused)
    })
    await owner.api.patch(`iam/groupInvites/${invite.uid}`, { roleUid: viewer })
    assert.equal((await accept(ada.api, invite.code)).status, 200)
  })

  test('accepting while the invite, its role, its group or the identity is deleted leaves no partial change', async () => {
    const { owner, uid: root } = await cast().organization()
    for (let round = 0; round < 4; round++) {
      const team = await owner.api.create(`iam/groups/${root}`, { name: `team ${round}` })
      const role = await owner.api.create(`iam/roles/${root}`, {
        name: `r${round}`,
        capabilities: ['CAP_REPO_LIST'],
      })
      const invite = await owner.api.create(`iam/groupInvites/${team.uid}`, {
        ...offer,
        roleUid: role.uid,
        singleUse: true,
      })
      const { uid: robot } = await owner.api.create(`iam/identities/${root}`, { name: 'robot', claimMatch })
      const api = apiOf(cast().berth, await cast().berth.tokenOf(robot))
      const gone = [
        `iam/groupInvites/${invite.uid}`,
        `iam/roles/${role.uid}`,
        `iam/groups/${team.uid}`,
        `iam/identities/${robot}`,
      ]
      // Each round another one goes first.
      const [accepted, ...deletions] = await Promise.all([
        accept(api, invite.code),
        ...[...gone.slice(round), ...gone.slice(0, round)].map((path) => owner.api.delete(path)),
      ])
      for (const { status } of [accepted, ...deletions])
        assert.ok([200, 400, 401, 404].includes(status), String(status))
      const bindings = await db()
        .kysely.selectFrom('role_bindings')
        .selectAll()
        .where('identity_uid', '=', robot)
        .execute()
      assert.equal(bindings.length, accepted.status === 200 ? 1 : 0)
      for (const binding of bindings)
        for (const path of [
          `iam/identities/${binding.identity_uid}`,
          `iam/roles/${binding.role_uid}`,
          `iam/groups/${binding.parent}`,
        ])
          assert.equal((await owner.api.get(path)).status, 200, path)
    }
    assert.deepEqual(cast().berth.errors, [])
  })

  test('a group that is being deleted accepts no new members', async () => {
    const { owner, uid: root } = await cast().organization()
    const team = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const { code, uid } = await owner.api.create(`iam/groupInvites/${team.uid}`, offer)
    const { uid: identity, api } = await person()
    const accepted = await inTransaction(db(), async (tx) => {
      await lockResource(db(), tx, 'groups', team.uid, 'update')
      const answer = accept(api, code)
      // Long enough for one that does not wait for the group.
      await Promise.race([answer, setTimeout(100)])
      await deleteResource(db(), tx, 'group_invites', uid)
      await deleteResource(db(), tx, 'groups', team.uid)
      return { answer }
    })
    assertError(await accepted.answer, refused)
    assert.deepEqual(await bindingsOf(identity), [])
  })

  test('a failed acceptance inside a larger transaction does not stop the transaction', async () => {
    const { owner, uid: root } = await cast().organization()
    const { store } = cast().berth.berth.installation
    const { code, uid } = await owner.api.create(`iam/groupInvites/${root}`, { ...offer, singleUse: true })
    const held = await person()
    await owner.api.create(`iam/roleBindings/${root}`, { identityUid: held.uid, roleUid: viewer })
    const { uid: actor } = await person()
    const request = {
      method: 'SignIn',
      requestId: 'r',
      address: '192.0.2.1',
      voucher: { kind: 'account' },
      session: undefined,
    } as const
    const { seen, binding } = await inTransaction(store.db, async (tx) => {
      const codes: (number | undefined)[] = []
      for (const [who, what] of [
        [actor, 'rubbish'],
        [held.uid, code],
        [randomUids.root(), code],
      ] as const)
        await acceptInvite(store, tx, what, { ...request, actor: who }).catch(({ code: refusal }) =>
          codes.push(refusal),
        )
      return { seen: codes, binding: await acceptInvite(store, tx, code, { ...request, actor }) }
    })
    assert.deepEqual(seen, [Code.NOT_FOUND, Code.ALREADY_EXISTS, Code.NOT_FOUND])
    assert.deepEqual(
      (await bindingsOf(actor)).map(({ uid: one }: { uid: string }) => one),
      [binding.uid],
    )
    assert.deepEqual((await cast().auditEventsOf(uid)).slice(1), [{ method: 'SignIn', actor }])
  })
})
