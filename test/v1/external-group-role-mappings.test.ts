import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExternalGroupRoleMappings } from '@berth/contract/gen/chainguard/platform/iam/external_group_role_mappings_pb.js'
import { managedRole, onEveryDatabase } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'

const viewer = managedRole('viewer')

onEveryDatabase('external group role mappings of version 1', (cast) => {
  const organized = async () => {
    const { uid: root, owner } = await cast().organization()
    const oidc = { issuer: 'https://login.example', clientId: 'berth', clientSecret: 's' }
    const body = { name: 'login', defaultRole: viewer, oidc }
    const { uid: provider } = await cast().admin.create(`iam/identityProviders/${root}`, body)
    const { token } = owner.api
    const send = (method: string, path: string, json?: object) =>
      call(method, `${cast().berth.url}/iam/v1/externalGroupRoleMappings${path}`, {
        token,
        ...(json === undefined ? {} : { body: json }),
      })
    return { root, provider, token, send, api: owner.api }
  }

  test('create, get, list and delete use the names of version 1, and show what version 2 shows', async () => {
    const { root, provider, send, api } = await organized()
    const mapping = { externalGroupId: 'admins', roleUidp: viewer, scope: root }
    const { status, body: created } = await send('POST', `/${provider}`, mapping)
    assert.equal(status, 200)
    const { id, createdAt } = created
    assert.deepEqual(created, { id, identityProviderUidp: provider, ...mapping, createdAt })
    const newer = await api.get(`iam/externalGroupRoleMappings/${id}`)
    assert.deepEqual([newer.body.uid, newer.body.roleUid, newer.body.createTime], [id, viewer, createdAt])
    assert.deepEqual((await send('GET', `/${id}`)).body, created)
    for (const filter of [
      '',
      `?identityProviderUidp=${provider}`,
      `?identity_provider_uidp=${provider}&uidp.descendantsOf=${root}`,
    ])
      assert.deepEqual((await send('GET', filter)).body, { items: [created] })
    for (const filter of ['?identityProviderUidp=none', `?uidp.ids=${root}`, '?uidp.childrenOf=x'])
      assert.deepEqual((await send('GET', filter)).body, { items: [] })
    assert.deepEqual((await send('DELETE', `/${id}`)).body, {})
    assert.equal((await send('GET', `/${id}`)).body.code, 5)
  })

  test('a batch is deleted as a whole, or its violation names the member of version 1', async () => {
    const { root, provider, send } = await organized()
    const create = async (externalGroupId: string) =>
      (await send('POST', `/${provider}`, { externalGroupId, roleUidp: viewer, scope: root })).body
    const one = await create('one')
    const refused = await send('POST', ':batchDelete', { parentId: provider, ids: [one.id, root] })
    assert.equal(refused.body.details[1].fieldViolations[0].field, 'ids[1]')
    const deleted = await send('POST', ':batchDelete', { parentId: provider, ids: [one.id] })
    assert.deepEqual(deleted.body, { parentId: provider, items: [one] })
    const missing = await send('POST', `/${provider}`, { externalGroupId: 'x', scope: root })
    assert.equal(missing.body.details[1].fieldViolations[0].field, 'roleUidp')
  })

  test('the same over gRPC', async () => {
    const { root, provider, token } = await organized()
    const { grpc } = cast()
    const { method } = ExternalGroupRoleMappings
    const created = await grpc.call(
      method.create,
      { parentId: provider, mapping: { externalGroupId: 'admins', roleUidp: viewer, scope: root } },
      { token },
    )
    assert.deepEqual(await grpc.call(method.get, { uid: created.id }, { token }), created)
    const listed = await grpc.call(method.list, { identityProviderUidp: provider }, { token })
    assert.deepEqual(listed.items, [created])
    const deleted = await grpc.call(method.batchDelete, { parentId: provider, ids: [created.id] }, { token })
    assert.deepEqual(deleted.items, [created])
    await assert.rejects(grpc.call(method.delete, { id: created.id }, { token }), { code: 5 })
  })
})
