import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  type Api,
  assertError,
  claimMatch,
  invalidFieldError,
  newName,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'
import type { GrpcFailure } from '../support/api/grpc.ts'
import { call, type RestReply } from '../support/api/rest.ts'

/** Entity tags: what a caller has read is what it changes (RFC 9110, sections 8.8.3 and 13.1). */

onEveryDatabase('versions of a resource', (cast) => {
  const address = (path: string) => `${cast().berth.url}/${path.replace('/', '/v2beta1/')}`
  const ask = (verb: string, path: string, { token }: Api, headers: Record<string, string>, body?: unknown) =>
    call(verb, address(path), { token, headers, ...(body === undefined ? {} : { body }) })
  const tag = (reply: RestReply) => reply.headers.get('etag') ?? ''
  const mismatch = { status: 412, code: 9, violation: 'ETAG_MISMATCH' } as const

  /** One resource of each kind: where it is, and a change to it. */
  async function everyKind(): Promise<{
    readonly api: Api
    readonly kinds: [path: string, patch: object][]
  }> {
    const { uid, owner } = await cast().organization()
    const { api } = owner
    const group = await api.create(`iam/groups/${uid}`, { name: 'team' })
    const identity = await api.create(`iam/identities/${uid}`, { name: 'robot', claimMatch })
    const role = await api.create(`iam/roles/${uid}`, { name: 'reader', capabilities: ['CAP_REPO_LIST'] })
    const other = await api.create(`iam/roles/${uid}`, { name: 'other', capabilities: ['CAP_TAG_LIST'] })
    const binding = await api.create(`iam/roleBindings/${uid}`, {
      identityUid: identity.uid,
      roleUid: role.uid,
    })
    const repo = await api.create(`registry/repos/${uid}`, { name: 'nginx' })
    const described = { description: 'changed' }
    return {
      api,
      kinds: [
        [`iam/groups/${group.uid}`, described],
        [`iam/identities/${identity.uid}`, described],
        [`iam/roles/${role.uid}`, described],
        [`iam/roleBindings/${binding.uid}`, { roleUid: other.uid }],
        [`registry/repos/${repo.uid}`, described],
      ],
    }
  }

  test('Create, Get and Update return a weak etag that changes with the resource', async () => {
    const { owner, uid } = await cast().organization()
    const made = await owner.api.post(`iam/groups/${uid}`, { name: 'team' })
    const path = `iam/groups/${made.body.uid}`
    assert.match(tag(made), /^W\/"[^"]+"$/)
    assert.equal(tag(await owner.api.get(path)), tag(made))
    const same = await owner.api.patch(path, { name: 'team' })
    assert.equal(tag(same), tag(made), 'nothing was written')
    const changed = await owner.api.patch(path, { description: 'd' })
    assert.notEqual(tag(changed), tag(made))
    assert.equal(tag(await owner.api.get(path)), tag(changed))
    assert.equal(tag(await owner.api.get('iam/groups')), '')
  })

  test('If-Match permits a change of every kind until the resource changes, and not afterwards', async () => {
    const { api, kinds } = await everyKind()
    for (const [path, patch] of kinds) {
      const seen = tag(await api.get(path))
      const changed = await ask('PATCH', path, api, { 'if-match': seen }, patch)
      assert.equal(changed.status, 200, changed.text)
      await cast().writesNothing(async () => {
        assertError(await ask('PATCH', path, api, { 'if-match': seen }, patch), mismatch)
        assertError(await ask('DELETE', path, api, { 'if-match': seen }), mismatch)
      })
    }
    for (const [path] of kinds.reverse()) {
      const fresh = tag(await api.get(path))
      const deleted = await ask('DELETE', path, api, { 'if-match': `W/"old", ${fresh}` })
      assert.equal(deleted.status, 200, `${path}: ${deleted.text}`)
    }
  })

  test('a star matches an existing resource; a missing resource is missing with any etag', async () => {
    const { owner, uid } = await cast().organization()
    const path = `iam/groups/${(await owner.api.create(`iam/groups/${uid}`, { name: 'team' })).uid}`
    assert.equal((await ask('PATCH', path, owner.api, { 'if-match': '*' }, { description: 'd' })).status, 200)
    const gone = await ask('DELETE', `iam/groups/${uid}/0123456789abcdef`, owner.api, { 'if-match': '"x"' })
    assert.equal(gone.status, 404)
  })

  test('an invalid list of etags is rejected (etagHeaderCharsMax)', async () => {
    const { owner, uid } = await cast().organization()
    const path = `iam/groups/${uid}`
    const long = Array.from({ length: 1000 }, (_, n) => `"${n}"`).join(',')
    assert.ok(long.length > limits.etagHeaderCharsMax)
    for (const header of ['abc', '', '"a" "b"', '"a', 'W/', 'w/"a"', ',', long]) {
      const reply = await cast().writesNothing(() =>
        ask('PATCH', path, owner.api, { 'if-match': header }, { description: 'd' }),
      )
      assertError(reply, invalidFieldError('if-match'))
    }
  })

  test('a Get of the version that the client has is 304, without a body', async () => {
    const { api, kinds } = await everyKind()
    for (const [path, patch] of kinds) {
      const seen = tag(await api.get(path))
      for (const header of [seen, `"other", ${seen}`, seen.replace('W/', ''), '*']) {
        const again = await ask('GET', path, api, { 'if-none-match': header })
        assert.deepEqual([again.status, again.text, tag(again)], [304, '', seen], header)
      }
      await api.patch(path, patch)
      assert.equal((await ask('GET', path, api, { 'if-none-match': seen })).status, 200)
      assert.equal((await ask('GET', path, api, { 'if-none-match': 'rubbish' })).status, 200)
    }
  })

  test('a tag moves only if the caller has read its digest', async () => {
    const { owner, uid } = await cast().organization()
    const { api } = owner
    const repo = await api.create(`registry/repos/${uid}`, { name: 'nginx' })
    const path = `registry/tags/${repo.uid}`
    const to = (n: number) => ({ name: 'latest', digest: `sha256:${String(n).repeat(64)}` })
    assertError(await ask('POST', path, api, { 'if-match': '*' }, to(1)), mismatch)
    const seen = tag(await api.post(path, to(1)))
    const moves = await Promise.all(
      [2, 3, 4, 5].map((n) => ask('POST', path, api, { 'if-match': seen }, to(n))),
    )
    assert.deepEqual(moves.map(({ status }) => status).sort(), [200, 412, 412, 412])
    assertError(await ask('POST', path, api, { 'if-match': 'rubbish' }, to(1)), invalidFieldError('if-match'))
  })

  test('using an identity does not change its version', async () => {
    const { owner, uid } = await cast().organization()
    const robot = await owner.api.post(`iam/identities/${uid}`, { name: 'robot', claimMatch })
    const { store } = cast().berth.berth.installation
    await store.db.kysely
      .updateTable('identities')
      .set({ last_seen_ms: store.clock() + 60_000 })
      .where('uid', '=', robot.body.uid)
      .execute()
    const read = await owner.api.get(`iam/identities/${robot.body.uid}`)
    assert.notEqual(read.body.lastSeenTime, robot.body.lastSeenTime)
    assert.equal(tag(read), tag(robot))
  })

  test('a binding and an invite keep their version when the resources they refer to are renamed', async () => {
    const { owner, uid } = await cast().organization()
    const { api } = owner
    const identity = await api.create(`iam/identities/${uid}`, { name: 'robot', claimMatch })
    const role = await api.create(`iam/roles/${uid}`, { name: 'reader', capabilities: ['CAP_REPO_LIST'] })
    const binding = await api.create(`iam/roleBindings/${uid}`, {
      identityUid: identity.uid,
      roleUid: role.uid,
    })
    const invite = await api.create(`iam/groupInvites/${uid}`, { roleUid: role.uid, ttl: '600s' })
    const paths = [`iam/roleBindings/${binding.uid}`, `iam/groupInvites/${invite.uid}`]
    const seen = await Promise.all(paths.map((path) => api.get(path)))
    await api.patch(`iam/identities/${identity.uid}`, { name: 'renamed' })
    await api.patch(`iam/roles/${role.uid}`, { name: 'renamed', capabilities: ['CAP_TAG_LIST'] })
    for (const [at, path] of paths.entries()) {
      const now = await api.get(path)
      assert.equal(now.body.role.name, 'renamed')
      assert.equal(tag(now), tag(seen[at]!))
      const deleted = await ask('DELETE', path, api, { 'if-match': tag(now) })
      assert.equal(deleted.status, 200, deleted.text)
    }
  })

  test('of a hundred concurrent updates with one etag exactly one succeeds', async () => {
    const { owner, uid } = await cast().organization()
    const { api } = owner
    for (const [path, patch] of [
      [`iam/groups/${uid}`, (n: number) => ({ description: `number ${n}` })],
      [
        `registry/repos/${(await api.create(`registry/repos/${uid}`, { name: 'nginx' })).uid}`,
        () => ({ description: 'same' }),
      ],
    ] as const) {
      const seen = tag(await api.get(path))
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, n) => ask('PATCH', path, api, { 'if-match': seen }, patch(n))),
      )
      const won = replies.filter(({ status }) => status === 200)
      assert.equal(won.length, 1)
      for (const reply of replies) if (reply.status !== 200) assertError(reply, mismatch)
      assert.deepEqual((await api.get(path)).body, won[0]?.body)
    }
  })

  test('two changes in one millisecond are two versions', async () => {
    const { owner, uid } = await cast().organization()
    const seen = new Set<string>()
    for (let n = 0; n < 20; n++)
      seen.add(tag(await owner.api.patch(`iam/groups/${uid}`, { description: `number ${n}` })))
    assert.equal(seen.size, 20)
  })

  test('the same over gRPC, by metadata', async () => {
    const { owner, uid } = await cast().organization()
    const { grpc } = cast()
    const { token } = owner.api
    const { createGroup, getGroup, updateGroup, deleteGroup, listGroups } = GroupsService.method
    let etag: string | undefined
    const onMetadata = (metadata: { get(name: string): unknown[] }) => {
      etag = metadata.get('etag')[0] as string | undefined
    }
    const made = await grpc.call(
      createGroup,
      { parent: uid, group: { name: newName('team') } },
      { token, onMetadata },
    )
    const first = etag ?? ''
    assert.match(first, /^W\/"/)
    const overRest = await owner.api.get(`iam/groups/${made.uid}`)
    assert.equal(tag(overRest), first)
    const update = { group: { uid: made.uid, description: 'd' } }
    await grpc.call(updateGroup, update, { token, metadata: { 'if-match': first }, onMetadata })
    const second = etag ?? ''
    assert.notEqual(second, first)
    await grpc.call(getGroup, { uid: made.uid }, { token, onMetadata })
    assert.equal(etag, second)
    await assert.rejects(
      grpc.call(deleteGroup, { uid: made.uid }, { token, metadata: { 'if-match': first } }),
      (failure: GrpcFailure) => {
        assert.equal(failure.code, 9)
        assert.equal(failure.status?.details.length, 2)
        return true
      },
    )
    await grpc.call(listGroups, {}, { token, onMetadata })
    assert.equal(etag, undefined)
    await grpc.call(deleteGroup, { uid: made.uid }, { token, metadata: { 'if-match': second } })
  })
})
