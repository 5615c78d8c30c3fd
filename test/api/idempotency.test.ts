import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyCapability } from '@berth/contract/capabilities.ts'
import { RoleBindingsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { ReposService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  type Api,
  apiOf,
  assertError,
  claimMatch,
  invalidFieldError,
  managedRole,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { createSession, voucherOf } from '../support/signin/accounts.ts'

/** Creates that are repeated: the second response is the first one, and nothing is created twice. */

onEveryDatabase('creates with an idempotency key', (cast) => {
  const post = (path: string, { token }: Api, key: string, body: unknown) =>
    call('POST', `${cast().berth.url}/${path.replace('/', '/v2beta1/')}`, {
      token,
      body,
      headers: { 'idempotency-key': key },
    })
  const reused = { status: 422, code: 9, violation: 'IDEMPOTENCY_KEY_REUSED' } as const

  test('a repetition returns the first response and creates nothing', async () => {
    const { owner, uid } = await cast().organization()
    const body = { name: 'nginx' }
    const first = await post(`registry/repos/${uid}`, owner.api, 'one', body)
    assert.equal(first.status, 200, first.text)
    await owner.api.patch(`registry/repos/${first.body.uid}`, { description: 'changed since' })
    const again = await cast().writesNothing(() => post(`registry/repos/${uid}`, owner.api, 'one', body))
    assert.deepEqual([again.status, again.text], [200, first.text])
    assert.equal(again.headers.get('etag'), first.headers.get('etag'))
    // Quoted, as the draft has it, it is the same key.
    assert.equal((await post(`registry/repos/${uid}`, owner.api, '"one"', body)).text, first.text)
    assert.equal((await owner.api.get('registry/repos', { 'uidp.children_of': uid })).body.totalCount, '1')
  })

  test('the first response is repeated, also after the resource was deleted', async () => {
    const { owner, uid } = await cast().organization()
    const first = await post(`registry/repos/${uid}`, owner.api, 'gone', { name: 'nginx' })
    await owner.api.delete(`registry/repos/${first.body.uid}`)
    assert.equal((await post(`registry/repos/${uid}`, owner.api, 'gone', { name: 'nginx' })).text, first.text)
    assert.equal((await owner.api.get(`registry/repos/${first.body.uid}`)).status, 404)
  })

  test('the key belongs to its caller and to its request', async () => {
    const { owner, uid, member } = await cast().organization()
    const other = await member('owner')
    await post(`registry/repos/${uid}`, owner.api, 'mine', { name: 'nginx' })
    const theirs = await post(`registry/repos/${uid}`, other.api, 'mine', { name: 'redis' })
    assert.equal(theirs.status, 200, theirs.text)
    const group = await owner.api.create(`iam/groups/${uid}`, { name: 'team' })
    for (const [path, body] of [
      [`registry/repos/${uid}`, { name: 'redis2' }],
      [`registry/repos/${uid}`, { name: 'nginx', description: 'more' }],
      [`registry/repos/${group.uid}`, { name: 'nginx' }],
      [`iam/groups/${uid}`, { name: 'nginx' }],
    ] as const) {
      const reply = await cast().writesNothing(() => post(path, owner.api, 'mine', body))
      assertError(reply, reused)
    }
  })

  test('R19: the response to one token is not repeated for a narrowed one', async () => {
    const { owner, uid } = await cast().organization()
    const group = await owner.api.create(`iam/groups/${uid}`, { name: 'narrow' })
    const invite = { roleUid: managedRole('viewer'), ttl: '600s' }
    const first = await post(`iam/groupInvites/${uid}`, owner.api, 'narrow', invite)
    assert.equal(first.status, 200, first.text)
    const provider = await owner.api.create(`iam/identityProviders/${uid}`, {
      name: 'login',
      defaultRole: managedRole('viewer'),
      oidc: { issuer: 'https://login.example', clientId: 'berth', clientSecret: 'x' },
    })
    const voucher = voucherOf(provider.uid)
    const session = await createSession(cast().berth, { identity: owner.uid, voucher })
    for (const narrowing of [
      { scopes: [uid, group.uid] },
      { capabilities: everyCapability },
      { session: session.id },
    ]) {
      const narrowed = apiOf(cast().berth, await cast().berth.tokenOf(owner.uid, narrowing))
      assertError(
        await cast().writesNothing(() => post(`iam/groupInvites/${uid}`, narrowed, 'narrow', invite)),
        reused,
      )
    }
  })

  test('a caller who lost the permission to create is denied, with and without a key', async () => {
    const { owner, uid, member } = await cast().organization()
    const editor = await member('editor')
    const first = await post(`registry/repos/${uid}`, editor.api, 'k', { name: 'nginx' })
    assert.equal(first.status, 200)
    await owner.api.delete(`iam/roleBindings/${editor.binding}`)
    assert.equal((await post(`registry/repos/${uid}`, editor.api, 'k', { name: 'nginx' })).status, 403)
  })

  test('a create that failed runs again', async () => {
    const { owner, uid } = await cast().organization()
    const blocking = await owner.api.create(`registry/repos/${uid}`, { name: 'nginx' })
    const path = `registry/repos/${uid}`
    const failed = await cast().writesNothing(() => post(path, owner.api, 'retry', { name: 'nginx' }))
    assert.equal(failed.status, 409)
    await owner.api.delete(`registry/repos/${blocking.uid}`)
    assert.equal((await post(path, owner.api, 'retry', { name: 'nginx' })).status, 200)
  })

  test('a hundred concurrent creates with one key create one resource', async () => {
    const { owner, uid } = await cast().organization()
    const replies = await Promise.all(
      Array.from({ length: 100 }, () =>
        post(`iam/identities/${uid}`, owner.api, 'many', { name: 'robot', claimMatch }),
      ),
    )
    for (const { status, text } of replies) assert.equal(status, 200, text)
    assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
    const listed = await owner.api.get('iam/identities', { 'uidp.children_of': uid, name: 'robot' })
    assert.equal(listed.body.totalCount, '1')
    assert.equal((await cast().auditEventsOf(replies[0]?.body.uid)).length, 1)
  })

  test('a batch is created once', async () => {
    const { owner, uid } = await cast().organization()
    const { token } = owner.api
    const requests = []
    for (const name of ['a', 'b']) {
      const identity = await owner.api.create(`iam/identities/${uid}`, { name, claimMatch })
      requests.push({ roleBinding: { identityUid: identity.uid } })
    }
    const request = { parent: uid, roleUid: managedRole('viewer'), requests }
    const { batchCreateRoleBindings } = RoleBindingsService.method
    const metadata = { 'idempotency-key': 'batch' }
    const first = await cast().grpc.call(batchCreateRoleBindings, request, { token, metadata })
    assert.deepEqual(await cast().grpc.call(batchCreateRoleBindings, request, { token, metadata }), first)
  })

  test('REST and gRPC are the same caller', async () => {
    const { owner, uid } = await cast().organization()
    const { token } = owner.api
    const metadata = { 'idempotency-key': 'both' }
    const made = await cast().grpc.call(
      ReposService.method.createRepo,
      { parent: uid, repo: { name: 'nginx' } },
      { token, metadata },
    )
    const again = await post(`registry/repos/${uid}`, owner.api, 'both', { name: 'nginx' })
    assert.deepEqual([again.status, again.body.uid], [200, made.uid])
  })

  test('a response is stored encrypted', async () => {
    const { owner, uid } = await cast().organization()
    await post(`registry/repos/${uid}`, owner.api, 'sealed', { name: 'plainly-visible' })
    const rows = await cast()
      .berth.berth.installation.store.db.kysely.selectFrom('idempotency_keys')
      .selectAll()
      .execute()
    const row = rows.find(({ caller, key }) => caller === owner.uid && key === 'sealed')
    assert.ok(row && row.answer.length > 0)
    const text = Buffer.from(row.answer).toString('latin1')
    assert.doesNotMatch(text, /plainly-visible/)
    assert.doesNotMatch(Buffer.from(text, 'base64').toString('latin1'), /plainly-visible/)
  })

  test('a key is printable and of bounded length (idempotencyKeyCharsMax); elsewhere it is ignored', async () => {
    const { owner, uid } = await cast().organization()
    for (const key of ['', '""', 'a'.repeat(limits.idempotencyKeyCharsMax + 1), 'caf\u00e9', 'a\tb']) {
      const reply = await cast().writesNothing(() =>
        post(`registry/repos/${uid}`, owner.api, key, { name: 'nginx' }),
      )
      assertError(reply, invalidFieldError('idempotency-key'))
    }
    const longest = 'a'.repeat(limits.idempotencyKeyCharsMax)
    assert.equal((await post(`registry/repos/${uid}`, owner.api, longest, { name: 'nginx' })).status, 200)
    const headers = { 'idempotency-key': 'caf\u00e9' }
    const { token } = owner.api
    const read = await call('GET', `${cast().berth.url}/registry/v2beta1/repos`, { token, headers })
    assert.equal(read.status, 200)
  })
})

onEveryDatabase('an expired idempotency key', (cast) => {
  test('is free again after a day (idempotencyKeyMaxAgeMs)', async () => {
    const { owner, uid } = await cast().organization()
    const { berth } = cast()
    const create = async () =>
      call('POST', `${berth.url}/iam/v2beta1/identities/${uid}`, {
        token: apiOf(berth, await berth.tokenOf(owner.uid)).token,
        headers: { 'idempotency-key': 'old' },
        body: { name: 'robot', claimMatch },
      })
    const first = await create()
    berth.advance(limits.idempotencyKeyMaxAgeMs - 60_000)
    assert.equal((await create()).body.uid, first.body.uid)
    berth.advance(60_001)
    const second = await create()
    assert.equal(second.status, 200, second.text)
    assert.notEqual(second.body.uid, first.body.uid)
  })
})
