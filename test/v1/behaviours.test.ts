import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Groups } from '@berth/contract/gen/chainguard/platform/iam/groups_pb.js'
import { RoleBindings } from '@berth/contract/gen/chainguard/platform/iam/role_bindings_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  type ApiFixture,
  claimMatch,
  managedRole,
  newName,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** What version 1 does otherwise than version 2, besides the names. */

const sender =
  (cast: ApiFixture, token: string) =>
  (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<RestReply> =>
    call(method, `${cast.berth.url}/iam/v1/${path}`, {
      token,
      headers,
      ...(body === undefined ? {} : { body }),
    })

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const issuerKeys = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1' }] })

const violations = (reply: RestReply) =>
  reply.body.details
    .flatMap((detail: { fieldViolations?: { field: string }[] }) => detail.fieldViolations ?? [])
    .map(({ field }: { field: string }) => field)

onEveryDatabase('version 1', (cast) => {
  test('lists are complete, of any length, and ignore paging parameters', async () => {
    const { owner, uid: root } = await cast().organization()
    const count = limits.pageSizeMax + 5
    const capabilities = ['CAP_IAM_GROUPS_LIST']
    for (let at = 0; at < count; at += 41)
      await Promise.all(
        Array.from({ length: Math.min(41, count - at) }, () =>
          owner.api.create(`iam/roles/${root}`, { name: newName('role'), capabilities }),
        ),
      )
    const send = sender(cast(), owner.api.token)
    const { body } = await send('GET', `roles?uidp.childrenOf=${root}&page_size=-1&page_token=x&order_by=x`)
    assert.deepEqual(Object.keys(body), ['items'])
    const ids = body.items.map(({ id }: { id: string }) => id)
    assert.equal(ids.length, count)
    assert.deepEqual(ids, ids.toSorted())
    assert.deepEqual(body.items[0].capabilities, ['groups.list'])
  })

  test('unset messages are null, members of a oneof are omitted', async () => {
    const { owner, uid: root } = await cast().organization()
    const send = sender(cast(), owner.api.token)
    const made = await send('POST', `accountAssociations/${root}`, {
      name: 'x',
      amazon: { account: '1'.repeat(12) },
    })
    const { createdAt, updatedAt } = made.body
    assert.deepEqual(made.body, {
      group: root,
      amazon: { account: '1'.repeat(12) },
      google: null,
      name: 'x',
      description: '',
      chainguard: null,
      azure: null,
      github: null,
      id: root,
      createdAt,
      updatedAt,
    })
    const listed = await send('GET', `account_associations?group=${root}`)
    assert.deepEqual(listed.body, { items: [made.body] })
    const identity = await send('POST', `identities/${root}`, { name: newName('i'), claim_match: claimMatch })
    const { id, createdAt: created, updatedAt: updated } = identity.body
    assert.deepEqual(identity.body, {
      id,
      name: identity.body.name,
      description: '',
      createdAt: created,
      updatedAt: updated,
      lastSeen: created,
      claimMatch: { ...claimMatch, claims: {}, claimPatterns: {} },
    })
  })

  test('a PUT resets omitted fields; the id in its path wins, and output-only fields stay', async () => {
    const { owner, uid: root } = await cast().organization()
    const send = sender(cast(), owner.api.token)
    const made = await send('POST', `identities/${root}`, { name: 'a', description: 'b', claimMatch })
    const { id, createdAt } = made.body
    await owner.api.patch(`iam/identities/${id}`, { company: 'Example' })
    const put = await send('PUT', `identities/${id}`, {
      id: root,
      name: 'c',
      created_at: '2001-01-01T00:00:00Z',
      lastSeen: '2001-01-01T00:00:00Z',
      aws_identity: { aws_account: '123456789012', arn: 'arn:aws:iam::123456789012:user/x', userId: 'x' },
    })
    assert.equal(put.status, 200, put.text)
    const { name, description, lastSeen, claimMatch: match, awsIdentity } = put.body
    assert.deepEqual([put.body.id, name, description, lastSeen, match], [id, 'c', '', createdAt, undefined])
    assert.deepEqual([put.body.createdAt, awsIdentity.userId], [createdAt, 'x'])
    // What version 1 cannot say is not touched by it.
    assert.equal((await owner.api.get(`iam/identities/${id}`)).body.company, 'Example')
    const bare = await send('PUT', `identities/${id}`, { name: 'c' })
    assert.equal(bare.status, 400, 'a whole identity has a relationship')
    const association = { name: 'x', amazon: { account: '1'.repeat(12) } }
    await send('POST', `account_associations/${root}`, association)
    const without = { name: 'x', google: { project_id: 'example', projectNumber: '1234' } }
    const reset = await send('PUT', `account_associations/${root}`, without)
    assert.deepEqual([reset.status, reset.body.amazon], [200, null], reset.text)
  })

  test('violations use the field names of version 1, as the caller spelled them', async () => {
    const { owner, uid: root } = await cast().organization()
    const send = sender(cast(), owner.api.token)
    for (const [method, path, body, fields] of [
      ['PUT', 'identities/x', { name: 'a' }, ['id']],
      ['POST', 'identities/x', { name: 'a' }, ['parentId']],
      ['POST', 'roles', { name: 'a' }, ['parentId']],
      ['POST', `roles/${root}`, { name: 'a', capabilities: ['no.such'] }, ['capabilities[0]']],
      ['POST', `rolebindings/${root}`, { identity: 'x', role: '' }, ['identity', 'role']],
      [
        'POST',
        `roleBindings/batch/${root}`,
        [{ identity: 'x', role: '' }],
        ['roleBindings[0].identity', 'roleBindings[0].role'],
      ],
      ['POST', `roleBindings/batch/${root}`, {}, []],
      ['POST', `group_invites/${root}`, { role: 'x' }, ['role', 'ttl']],
      ['POST', `identityProviders/${root}`, { name: 'a', default_role: 'x', oidc: {} }, ['default_role']],
      ['DELETE', 'group_invites/x', undefined, ['id']],
      ['POST', 'account_associations/x:check', {}, ['group']],
    ] as const) {
      const reply = await send(method, path, body)
      assert.equal(reply.status, 400, `${method} ${path} ${reply.text}`)
      const named = violations(reply)
      for (const field of fields) assert.ok(named.includes(field), `${method} ${path}: ${named}`)
      assert.ok(!/uid\b/i.test(named.join()), named.join())
    }
  })

  test('a batch of bindings is created as a whole or not at all', async () => {
    const { owner, uid: root } = await cast().organization()
    const send = sender(cast(), owner.api.token)
    const identities = await Promise.all(
      ['a', 'b'].map((name) => owner.api.create(`iam/identities/${root}`, { name, claimMatch })),
    )
    const role = managedRole('viewer')
    const batch = identities.map(({ uid }) => ({ identity: uid, role, group: 'whatever' }))
    const count = async () => (await send('GET', `rolebindings?uidp.children_of=${root}`)).body.items.length
    const earlier = await count()
    const bad = await send('POST', `rolebindings/batch/${root}`, [
      ...batch,
      { identity: `${root}/${'0'.repeat(16)}`, role },
    ])
    assert.notEqual(bad.status, 200)
    assert.equal(await count(), earlier)
    const made = await send('POST', `rolebindings/batch/${root}`, batch)
    assert.equal(made.status, 200, made.text)
    const groupsOf = made.body.roleBindings.map(({ identity, group }: Record<string, string>) => [
      identity,
      group,
    ])
    assert.deepEqual(
      groupsOf,
      batch.map(({ identity }) => [identity, root]),
    )
    assert.equal(await count(), earlier + 2)
  })

  test('a batch of bindings has its own limit, which is higher than that of version 2', async () => {
    const { owner, uid: root } = await cast().organization()
    const { token } = owner.api
    const role = managedRole('viewer')
    const createBatch = (roleBindings: { identity: string; role: string }[]) =>
      cast().grpc.call(RoleBindings.method.createBatch, { parent: root, roleBindings }, { token })
    const robots = await Promise.all(
      Array.from({ length: limits.batchEntriesMax + 1 }, () =>
        owner.api.create(`iam/identities/${root}`, { name: 'robot', claimMatch }),
      ),
    )
    const made = await createBatch(robots.map(({ uid }) => ({ identity: uid, role })))
    assert.deepEqual(
      made.roleBindings.map(({ identity, group }) => [identity, group]),
      robots.map(({ uid }) => [uid, root]),
    )
    const many = Array.from({ length: limits.v1BatchEntriesMax + 1 }, () => ({
      identity: '',
      role,
    }))
    await assert.rejects(createBatch(many), /role_bindings: must have between 1 and 1000/)
    await assert.rejects(createBatch([]), /role_bindings: must have between 1 and 1000/)
  })

  test('keys without an expiry expire after 30 days', async () => {
    const { owner, uid: root } = await cast().organization()
    const send = sender(cast(), owner.api.token)
    const keys = { ...claimMatch, issuerKeys }
    const lifeOf = ({ body, text }: RestReply) => {
      assert.ok(body.static, text)
      return Date.parse(body.static.expiration) - Date.parse(body.createdAt)
    }
    const made = await send('POST', `identities/${root}`, { name: 'a', static: keys })
    assert.ok(Math.abs(lifeOf(made) - limits.v1StaticKeyLifetimeMs) < 10_000)
    const expiration = new Date(Date.now() + 2 * limits.v1StaticKeyLifetimeMs).toISOString()
    const longer = await send('POST', `identities/${root}`, { name: 'b', static: { ...keys, expiration } })
    assert.equal(longer.body.static.expiration, expiration)
  })

  test('filters with an invalid identifier match nothing, without an error', async () => {
    const { owner } = await cast().organization()
    const send = sender(cast(), owner.api.token)
    for (const path of ['groups', 'identities', 'roles', 'rolebindings', 'identityProviders'])
      for (const filter of [
        'id=zzz',
        'uidp.ids=zzz',
        'uidp.descendants_of=/',
        'uidp.children_of=x',
        'uidp.ancestors_of=x',
      ]) {
        const { status, body } = await send('GET', `${path}?${filter}`)
        assert.deepEqual([status, body], [200, { items: [] }], `${path}?${filter}`)
      }
  })

  test('bindings show groups and roles as far as the caller may read them, at least their names', async () => {
    const { uid: root, name, member } = await cast().organization()
    const { api } = await member('owner')
    const capabilities = ['CAP_IAM_ROLE_BINDINGS_LIST']
    const role = await api.create(`iam/roles/${root}`, { name: 'reader', capabilities })
    const reader = await member(role.uid)
    const list = async (token: string) => {
      const { body } = await sender(cast(), token)('GET', `rolebindings?id=${reader.binding}`)
      return body.items[0]
    }
    const [whole, named] = [await list(api.token), await list(reader.api.token)]
    assert.equal(whole.group.status, 'ORG_STATUS_READY')
    assert.deepEqual(whole.role.capabilities, ['role_bindings.list'])
    assert.deepEqual([named.group.name, named.group.status], [name, 'ORG_STATUS_UNSPECIFIED'])
    assert.deepEqual([named.role.name, named.role.capabilities], ['reader', []])
    assert.deepEqual([named.role.createdAt, named.group.createdAt, named.group.updatedAt], [null, null, null])
    assert.ok(whole.role.createdAt !== null && whole.group.createdAt !== null)
  })

  test('bindings show unverified addresses to callers who may read the identity', async () => {
    const { uid: root } = await cast().organization()
    const { admin, berth } = cast()
    const email = 'ada@example.com'
    const uid = await createPerson(berth, { email })
    await berth.berth.installation.store.db.kysely
      .updateTable('identities')
      .set({ email: '', email_unverified: email })
      .where('uid', '=', uid)
      .execute()
    const binding = await admin.create(`iam/roleBindings/${root}`, {
      identityUid: uid,
      roleUid: managedRole('viewer'),
    })
    const { api } = await (await cast().organization()).member('owner')
    const list = async (token: string) =>
      (await sender(cast(), token)('GET', `rolebindings?id=${binding.uid}`)).body.items
    assert.deepEqual(
      (await list(admin.token)).map((one: Record<string, string>) => one['emailUnverified']),
      [email],
    )
    assert.deepEqual(await list(api.token), [])
  })

  test('a lookup returns the whole identity to callers who may read it, and otherwise only the identifier of a user', async () => {
    const { owner, uid: root, member } = await cast().organization()
    const stranger = await cast().organization()
    const { admin, berth } = cast()
    const lookup = (token: string, of: { issuer: string; subject: string }) =>
      sender(cast(), token)('GET', `identities/lookup?${new URLSearchParams(of)}`)

    const nobody = { issuer: 'https://issuer.example', subject: newName('nobody') }
    const missing = await lookup(owner.api.token, nobody)
    assert.deepEqual([missing.status, missing.body.code], [404, 5], missing.text)
    assert.equal((await lookup(owner.api.token, { issuer: '', subject: '' })).status, 400)

    const person = { issuer: 'https://people.example', subject: newName('person') }
    const uid = await createPerson(berth, person)
    const [whole, alone] = [await lookup(admin.token, person), await lookup(owner.api.token, person)]
    assert.deepEqual([whole.body.id, whole.body.createdAt !== null], [uid, true], whole.text)
    assert.deepEqual([alone.body.id, alone.body.name, alone.body.createdAt], [uid, '', null])

    const exact = { issuer: 'https://ci.example', subject: newName('robot') }
    const { uid: robot } = await owner.api.create(`iam/identities/${root}`, {
      name: 'robot',
      claimMatch: exact,
    })
    const keyed = { issuer: 'https://keys.example', subject: newName('keyed') }
    const { uid: withKeys } = await owner.api.create(`iam/identities/${root}`, {
      name: 'keyed',
      staticKeys: { ...keyed, issuerKeys },
    })
    assert.equal((await lookup(owner.api.token, exact)).body.id, robot)
    assert.equal((await lookup(owner.api.token, exact)).body.name, 'robot')
    assert.equal((await lookup(owner.api.token, keyed)).body.id, withKeys)
    assert.equal((await lookup(stranger.owner.api.token, exact)).status, 404)
    const { api: without } = await member(
      (await owner.api.create(`iam/roles/${root}`, { name: 'r', capabilities: ['CAP_IAM_GROUPS_LIST'] })).uid,
    )
    assert.equal((await lookup(without.token, exact)).status, 404)
  })

  test('unknown fields of a relationship are rejected at any depth; elsewhere they are ignored', async () => {
    const { owner, uid: root } = await cast().organization()
    const send = sender(cast(), owner.api.token)
    const made = await send('POST', `identities/${root}`, { name: 'a', nickname: 'b', claimMatch })
    assert.equal(made.status, 200, made.text)
    for (const [relationship, member] of [
      [{ claimMatch: { ...claimMatch, audiences: 'x' } }, 'claimMatch.audiences'],
      [{ claim_match: { ...claimMatch, claim: { a: 'b' } } }, 'claim_match.claim'],
      [{ static: { ...claimMatch, issuerKeys: '{}', audience: 'x' } }, 'static.audience'],
      [{ awsIdentity: { awsAccount: '123456789012', arns: 'x' } }, 'awsIdentity.arns'],
    ] as const) {
      for (const [method, path] of [
        ['POST', `identities/${root}`],
        ['PUT', `identities/${made.body.id}`],
      ] as const) {
        const reply = await send(method, path, { name: 'a', ...relationship })
        assert.deepEqual([reply.status, reply.body.code, violations(reply)], [400, 3, [member]], reply.text)
      }
    }
  })

  test('built-in roles are those whose parent is /', async () => {
    const { owner, uid: root } = await cast().organization()
    const capabilities = ['CAP_IAM_GROUPS_LIST']
    const { uid } = await owner.api.create(`iam/roles/${root}`, { name: 'own', capabilities })
    const send = sender(cast(), cast().admin.token)
    const idsOf = async (query: string) =>
      (await send('GET', `roles?${query}`)).body.items.map(({ id }: { id: string }) => id)
    assert.ok((await idsOf('parent=/')).includes(managedRole('viewer')))
    assert.ok(!(await idsOf('parent=/')).includes(uid))
    assert.deepEqual(await idsOf(`parent=${root}`), [uid])
    assert.deepEqual(await idsOf(`parent=${root}&name=other`), [])
    assert.deepEqual(await idsOf('parent=nowhere'), [])
  })

  test('only the operator can reset `verified`, and a PUT of another caller keeps it', async () => {
    const { owner, uid: root, name } = await cast().organization()
    const { admin } = cast()
    await admin.patch(`iam/groups/${root}`, { verified: true, kind: 'ORG_KIND_CUSTOMER' })
    const put = await sender(cast(), owner.api.token)('PUT', `groups/${root}`, {
      name,
      description: 'x',
      verified: false,
    })
    assert.deepEqual(
      [put.body.verified, put.body.kind, put.body.description],
      [true, 'ORG_KIND_CUSTOMER', 'x'],
    )
    const reset = await sender(cast(), admin.token)('PUT', `groups/${root}`, { name })
    assert.deepEqual([reset.body.verified, reset.body.kind], [false, 'ORG_KIND_CUSTOMER'])
  })

  test('a write through version 1 is one event, under the name of the called method; so is a denial', async () => {
    const { owner, uid: root, member } = await cast().organization()
    const { api } = await member('viewer')
    const send = sender(cast(), owner.api.token)
    const { id } = (await send('POST', `groups/${root}`, { name: 'a' })).body
    await send('PUT', `groups/${id}`, { name: 'b' })
    const { url } = cast().berth
    const { token } = owner.api
    const repo = await call('POST', `${url}/registry/v1/repos/${root}`, { token, body: { name: 'web' } })
    assert.equal(repo.status, 200, repo.text)
    await call('PUT', `${url}/registry/v1/repos/${repo.body.id}`, {
      token,
      body: { name: 'web', description: 'x' },
    })
    const events = async (code: number): Promise<Record<string, string>[]> => {
      const query = new URLSearchParams({ code: String(code), 'uidp.descendants_of': root })
      return (await call('GET', `${url}/audit/v1/events?${query}`, { token })).body.events
    }
    assert.deepEqual(
      (await events(0))
        .map(({ method = '' }) => method)
        .filter((method) => !method.includes('v2beta1'))
        .sort(),
      [
        'chainguard.platform.iam.Groups/Create',
        'chainguard.platform.iam.Groups/Update',
        'chainguard.platform.registry.Registry/CreateRepo',
        'chainguard.platform.registry.Registry/UpdateRepo',
      ],
    )
    const refused = await sender(cast(), api.token)('DELETE', `groups/${id}`)
    assert.deepEqual([refused.status, refused.body.code], [403, 7])
    await wait(1200)
    assert.deepEqual(
      (await events(7)).map(({ method, resourceUid }) => [method, resourceUid]),
      [['chainguard.platform.iam.Groups/Delete', id]],
    )
  })

  test('the parameters of a list may be a form; other methods of a path are not implemented', async () => {
    const { owner, uid: root } = await cast().organization()
    const { token } = owner.api
    const post = async (path: string, type: string, form: Record<string, string> = {}) => {
      const response = await fetch(`${cast().berth.url}/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': type },
        body: String(new URLSearchParams(form)),
      })
      const body = (await response.json()) as Record<string, unknown>
      return { status: response.status, headers: response.headers, body }
    }
    const form = 'application/x-www-form-urlencoded'
    const repo = await owner.api.create(`registry/repos/${root}`, { name: 'formed' })
    const expected = await post(`registry/v1/repotagssummary/${repo.uid}`, form, { exclude_dates: 'true' })
    assert.deepEqual([expected.status, expected.body['id']], [200, repo.uid])
    assert.equal((await post('registry/v1/eoltags', form, { pageSize: 'x' })).status, 400)
    const json = await post('registry/v1/eoltags', 'application/json')
    assert.deepEqual([json.status, json.body['code'], json.headers.get('allow')], [501, 12, 'GET, HEAD'])
    const newer = await post('iam/v2beta1/identities:lookupIdentity', form)
    assert.deepEqual([newer.status, newer.body['code']], [405, 12])
  })

  test('entity tags and idempotency keys work as in version 2', async () => {
    const { owner, uid: root } = await cast().organization()
    const send = sender(cast(), owner.api.token)
    const key = { 'idempotency-key': newName('key') }
    const first = await send('POST', `groups/${root}`, { name: 'once' }, key)
    const second = await send('POST', `groups/${root}`, { name: 'once' }, key)
    assert.deepEqual([first.status, second.body], [200, first.body])
    const { id } = first.body
    const stale = await send('PUT', `groups/${id}`, { name: 'twice' }, { 'if-match': 'W/"0"' })
    assert.equal(stale.status, 412)
    const tag = (await owner.api.get(`iam/groups/${id}`)).headers.get('etag') ?? ''
    assert.equal((await send('PUT', `groups/${id}`, { name: 'twice' }, { 'if-match': tag })).status, 200)
  })
})

describe('a call of version 1', () => {
  onEveryDatabase(
    'is counted once',
    (cast) => {
      test('for rate limits and in metrics, under its own name, however many methods it calls', async () => {
        const { uid: root, member } = await cast().organization()
        const { api } = await member('owner')
        const reply = await sender(cast(), api.token)('GET', `rolebindings?uidp.descendants_of=${root}`)
        assert.equal(reply.headers.get('ratelimit-remaining'), '99')
        const { token } = api
        await cast().grpc.call(Groups.method.list, { id: root }, { token })
        const again = await sender(cast(), token)('GET', 'groups')
        assert.equal(again.headers.get('ratelimit-remaining'), '97')
        const metrics = await (await fetch(`${cast().berth.url}/metrics`)).text()
        const counted = (method: string) =>
          [...metrics.matchAll(/^berth_requests_total\{method="([^"]+)",.* (\d+)$/gm)]
            .filter(([, name]) => name === method)
            .reduce((sum, [, , count]) => sum + Number(count), 0)
        assert.equal(counted('chainguard.platform.iam.RoleBindings/List'), 1)
        assert.equal(counted('chainguard.platform.iam.Groups/List'), 2)
        assert.equal(counted('chainguard.platform.iam.v2beta1.RoleBindingsService/ListRoleBindings'), 0)
        assert.equal(counted('chainguard.platform.iam.v2beta1.GroupsService/ListGroups'), 0)
      })
    },
    { env: { BERTH_RATE_LIMITS: 'read=100/3600s' } },
  )
})
