import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExternalGroupRoleMappingsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/external_group_role_mappings_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  alreadyExistsError,
  assertError,
  failedPreconditionError,
  invalidFieldError,
  managedRole,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { call, type RestReply } from '../support/api/rest.ts'

const TYPE = 'iam.chainguard.dev/ExternalGroupRoleMapping'
const PROVIDER_TYPE = 'iam.chainguard.dev/IdentityProvider'
const path = 'iam/externalGroupRoleMappings'
const viewer = managedRole('viewer')
const editor = managedRole('editor')

const uidsOf = ({ body }: RestReply): string[] =>
  body.externalGroupRoleMappings.map(({ uid }: { uid: string }) => uid)

onEveryDatabase('external group role mappings', (cast) => {
  /** An organization with an identity provider. */
  const organized = async () => {
    const organization = await cast().organization()
    const { uid: root, owner } = organization
    const provider = await providerOf(root)
    return { organization, root, provider, api: owner.api }
  }

  const providerOf = async (root: string): Promise<string> => {
    const oidc = { issuer: 'https://login.example', clientId: 'berth', clientSecret: 's' }
    const body = { name: 'login', defaultRole: viewer, oidc }
    return (await cast().admin.create(`iam/identityProviders/${root}`, body)).uid
  }

  const batch = (token: string, body: object) =>
    call('POST', `${cast().berth.url}/iam/v2beta1/externalGroupRoleMappings:batchDelete`, { token, body })

  test('create, get, list and delete return the exact JSON', async () => {
    const { api, root, provider } = await organized()
    const body = { externalGroupId: 'cn=Admins,dc=example', roleUid: viewer, scope: root }
    const made = await api.create(`${path}/${provider}`, body)
    const { uid } = made
    assert.equal(uid.slice(0, -17), provider)
    assert.deepEqual(made, { uid, identityProviderUid: provider, ...body, createTime: made.createTime })
    assert.deepEqual((await api.get(`${path}/${uid}`)).body, made)
    const listed = await api.get(path, { 'uidp.descendants_of': root })
    assert.deepEqual(listed.body, {
      externalGroupRoleMappings: [made],
      nextPageToken: '',
      totalCount: '1',
      skipped: 0,
    })
    const deleted = await api.delete(`${path}/${uid}`)
    assert.deepEqual([deleted.status, deleted.text], [200, ''])
    assertError(await api.get(`${path}/${uid}`), notFoundError(TYPE, uid))
    assertError(await api.delete(`${path}/${uid}`), notFoundError(TYPE, uid))
  })

  test('the same over gRPC', async () => {
    const { api, root, provider } = await organized()
    const { grpc } = cast()
    const { token } = api
    const {
      createExternalGroupRoleMapping,
      getExternalGroupRoleMapping,
      listExternalGroupRoleMappings,
      deleteExternalGroupRoleMapping,
      batchDeleteExternalGroupRoleMappings,
    } = ExternalGroupRoleMappingsService.method
    const make = (externalGroupId: string) =>
      grpc.call(
        createExternalGroupRoleMapping,
        {
          parent: provider,
          externalGroupRoleMapping: { externalGroupId, roleUid: viewer, scope: root },
        },
        { token },
      )
    const [one, other] = [await make('one'), await make('other')]
    const { uid } = one
    assert.deepEqual(await grpc.call(getExternalGroupRoleMapping, { uid }, { token }), one)
    const asked = { identityProviderUid: provider, orderBy: 'created_at', pageSize: 1 }
    const listed = await grpc.call(listExternalGroupRoleMappings, asked, { token })
    assert.equal(listed.totalCount, 2n)
    await grpc.call(deleteExternalGroupRoleMapping, { uid }, { token })
    const names = [uid, other.uid]
    const gone = await grpc.call(batchDeleteExternalGroupRoleMappings, { parent: provider, names }, { token })
    assert.deepEqual([gone.parent, gone.externalGroupRoleMappings], [provider, [other]])
    await assert.rejects(grpc.call(getExternalGroupRoleMapping, { uid }, { token }), { code: 5 })
  })

  test('an invalid mapping is rejected, field by field, and nothing is written', async () => {
    const { api, root, provider } = await organized()
    const { uid: team } = await api.create(`iam/groups/${root}`, { name: 'team' })
    const { uid: other } = await cast().organization()
    const body = { externalGroupId: 'admins', roleUid: viewer, scope: root }
    const cases: readonly [changed: object, ...fields: string[]][] = [
      [{ externalGroupId: '' }, 'externalGroupId'],
      [{ externalGroupId: 'a\u0000' }, 'externalGroupId'],
      [{ externalGroupId: 'a'.repeat(limits.externalGroupIdCharsMax + 1) }, 'externalGroupId'],
      [{ roleUid: '' }, 'roleUid'],
      [{ roleUid: 'viewer' }, 'roleUid'],
      [{ scope: '' }, 'scope'],
      [{ scope: 'x' }, 'scope'],
      // Not below the organization, not elsewhere, and no other thing in it.
      [{ scope: team }, 'scope'],
      [{ scope: other }, 'scope'],
      [{ scope: provider }, 'scope'],
      [{ group: root }, 'group'],
    ]
    await cast().writesNothing(async () => {
      for (const [changed, ...fields] of cases)
        assertError(
          await api.post(`${path}/${provider}`, { ...body, ...changed }),
          invalidFieldError(...fields),
        )
      assertError(
        await api.post(`${path}/${provider}`, {}),
        invalidFieldError('externalGroupId', 'roleUid', 'scope'),
      )
      assertError(await api.post(`${path}/x`, body), invalidFieldError('parent'))
      assertError(await api.get(`${path}/x`), invalidFieldError('uid'))
    })
    // The longest there may be is not too long for the index either.
    await api.create(`${path}/${provider}`, {
      ...body,
      externalGroupId: 'グ'.repeat(limits.externalGroupIdCharsMax),
    })
  })

  test('a mapping belongs to an identity provider', async () => {
    const { api, root, provider } = await organized()
    const body = { externalGroupId: 'admins', roleUid: viewer, scope: root }
    const { uid: mapping } = await api.create(`${path}/${provider}`, body)
    await cast().writesNothing(async () => {
      // Also before what is wrong with the mapping.
      for (const parent of [root, mapping, `${root}/0123456789abcdef`])
        for (const sent of [body, {}])
          assertError(await api.post(`${path}/${parent}`, sent), notFoundError(PROVIDER_TYPE, parent))
    })
  })

  test('a provider maps a group to a role once', async () => {
    const { api, root, provider } = await organized()
    const body = { externalGroupId: 'admins', roleUid: viewer, scope: root }
    const { uid } = await api.create(`${path}/${provider}`, body)
    await cast().writesNothing(async () =>
      assertError(await api.post(`${path}/${provider}`, body), alreadyExistsError(TYPE, uid)),
    )
    await api.create(`${path}/${provider}`, { ...body, externalGroupId: 'Admins' })
    await api.create(`${path}/${provider}`, { ...body, roleUid: editor })
    await api.create(`${path}/${await providerOf(root)}`, body)
  })

  test('R17: the role is one of the organization or a managed one, and others look missing', async () => {
    const { organization, api, root, provider } = await organized()
    const capabilities = ['CAP_IAM_GROUPS_LIST']
    const { uid: team } = await api.create(`iam/groups/${root}`, { name: 'team' })
    const below = await api.create(`iam/roles/${team}`, { name: 'below', capabilities })
    const theirs = await cast().organization()
    const other = await theirs.owner.api.create(`iam/roles/${theirs.uid}`, { name: 'other', capabilities })
    const body = { externalGroupId: 'admins', scope: root }
    await cast().writesNothing(async () => {
      for (const roleUid of [below.uid, other.uid, `${root}/0123456789abcdef`, organization.owner.uid])
        assertError(
          await api.post(`${path}/${provider}`, { ...body, roleUid }),
          notFoundError('iam.chainguard.dev/Role', roleUid),
        )
    })
    const own = await api.create(`iam/roles/${root}`, { name: 'own', capabilities })
    await api.create(`${path}/${provider}`, { ...body, roleUid: own.uid })
  })

  test('R19: a caller cannot map a group to a role that grants more than they hold', async () => {
    const { organization, api, root, provider } = await organized()
    const capabilities = [
      'CAP_IAM_IDENTITY_PROVIDERS_CREATE',
      'CAP_IAM_ROLE_BINDINGS_CREATE',
      'CAP_IAM_GROUPS_LIST',
    ]
    const keeper = await api.create(`iam/roles/${root}`, { name: newName('keeper'), capabilities })
    const member = await organization.member(keeper.uid)
    const body = { externalGroupId: 'admins', scope: root }
    await cast().writesNothing(async () => {
      for (const roleUid of [viewer, managedRole('owner')])
        assertError(await member.api.post(`${path}/${provider}`, { ...body, roleUid }), permissionDeniedError)
    })
    await member.api.create(`${path}/${provider}`, { ...body, roleUid: keeper.uid })
  })

  test('owners map groups, viewers read mappings, others learn nothing', async () => {
    const { organization, api, root, provider } = await organized()
    const body = { externalGroupId: 'admins', roleUid: viewer, scope: root }
    const { uid } = await api.create(`${path}/${provider}`, body)
    const reader = await organization.member('viewer')
    assert.equal((await reader.api.get(`${path}/${uid}`)).status, 200)
    assert.deepEqual(uidsOf(await reader.api.get(path)), [uid])
    const { owner: outsider, uid: elsewhere } = await cast().organization()
    const own = await providerOf(elsewhere)
    await cast().writesNothing(async () => {
      for (const { api: theirs } of [reader, outsider]) {
        assertError(
          await theirs.post(`${path}/${provider}`, { ...body, roleUid: editor }),
          permissionDeniedError,
        )
        for (const target of [uid, `${provider}/0123456789abcdef`])
          assertError(await theirs.delete(`${path}/${target}`), permissionDeniedError)
        assertError(await batch(theirs.token, { parent: provider, names: [uid] }), permissionDeniedError)
      }
      assertError(await outsider.api.get(`${path}/${uid}`), permissionDeniedError)
      const listed = await outsider.api.get(path, { identity_provider_uid: provider })
      assert.deepEqual([uidsOf(listed), listed.body.totalCount], [[], '0'])
      // With a provider of one's own as the parent, a mapping of another organization is none of it.
      const foreign = await batch(outsider.api.token, { parent: own, names: [uid] })
      assertError(foreign, invalidFieldError('names[0]'))
    })
  })

  test('List filters by provider and sorts by uid and creation', async () => {
    const { api, root, provider } = await organized()
    const second = await providerOf(root)
    const made: { uid: string }[] = []
    for (const [parent, externalGroupId] of [
      [provider, 'b'],
      [second, 'a'],
      [provider, 'a'],
    ] as const) {
      made.push(await api.create(`${path}/${parent}`, { externalGroupId, roleUid: viewer, scope: root }))
      cast().berth.advance(5)
    }
    const order = async (order_by: string, more: object = {}) =>
      uidsOf(await api.get(path, { order_by, ...more })).map((uid) =>
        made.findIndex((one) => one.uid === uid),
      )
    for (const field of ['created_at', 'create_time', 'createTime']) {
      assert.deepEqual(await order(field), [0, 1, 2])
      assert.deepEqual(await order(`${field} desc`), [2, 1, 0])
    }
    const byUid = made.map(({ uid }, at) => ({ uid, at })).sort((a, b) => (a.uid < b.uid ? -1 : 1))
    assert.deepEqual(
      await order(''),
      byUid.map(({ at }) => at),
    )
    assert.deepEqual(await order('uid desc'), byUid.map(({ at }) => at).reverse())
    for (const other of ['updated_at', 'external_group_id'])
      assertError(await api.get(path, { order_by: other }), invalidFieldError('order_by'))
    for (const name of ['identity_provider_uid', 'identityProviderUid', 'uidp.children_of'])
      assert.deepEqual(await order('created_at', { [name]: provider }), [0, 2])
    assert.deepEqual(await order('created_at', { identity_provider_uid: `${root}/0123456789abcdef` }), [])
    assertError(
      await api.get(path, { identity_provider_uid: 'x' }),
      invalidFieldError('identity_provider_uid'),
    )
    const first = await api.get(path, { identity_provider_uid: provider, page_size: '1' })
    assert.equal(first.body.totalCount, '2')
    const next = { identity_provider_uid: provider, page_token: first.body.nextPageToken }
    const pages = [...uidsOf(first), ...uidsOf(await api.get(path, next))]
    assert.deepEqual(pages, [made[0], made[2]].map((one) => one?.uid).sort())
  })

  test('a batch is deleted as a whole, skipping deleted mappings, or not at all', async () => {
    const { api, root, provider } = await organized()
    const second = await providerOf(root)
    const make = (parent: string, externalGroupId: string) =>
      api.create(`${path}/${parent}`, { externalGroupId, roleUid: viewer, scope: root })
    const [one, two, kept, foreign] = [
      await make(provider, 'one'),
      await make(provider, 'two'),
      await make(provider, 'kept'),
      await make(second, 'one'),
    ]
    const gone = `${provider}/0123456789abcdef`
    const { token } = api
    const tooMany = Array.from(
      { length: limits.batchDeleteNamesMax + 1 },
      (_, at) => `${provider}/${at.toString(16).padStart(16, '0')}`,
    )
    await cast().writesNothing(async () => {
      for (const [names, ...fields] of [
        [[], 'names'],
        [tooMany, 'names'],
        [['x'], 'names[0]'],
        [
          [one.uid, foreign.uid, provider, root, `${one.uid}/0123456789abcdef`],
          'names[1]',
          'names[2]',
          'names[3]',
          'names[4]',
        ],
      ] as const)
        assertError(await batch(token, { parent: provider, names }), invalidFieldError(...fields))
      assertError(await batch(token, { names: [one.uid] }), invalidFieldError('parent'))
      assertError(await batch(token, { parent: root, names: [provider] }), notFoundError(PROVIDER_TYPE, root))
      const nothing = await batch(token, { parent: provider, names: [gone, ...tooMany.slice(2)] })
      assert.deepEqual(nothing.body, { parent: provider, externalGroupRoleMappings: [] }, nothing.text)
    })
    const reply = await batch(token, { parent: provider, names: [two.uid, gone, one.uid, two.uid] })
    assert.equal(reply.status, 200, reply.text)
    const byUid = [one, two].sort((a, b) => (a.uid < b.uid ? -1 : 1))
    assert.deepEqual(reply.body, { parent: provider, externalGroupRoleMappings: byUid })
    assert.deepEqual(uidsOf(await api.get(path)).sort(), [kept.uid, foreign.uid].sort())
  })

  test('overlapping batches both finish, and each mapping is deleted by one of them', async () => {
    const { api, root, provider } = await organized()
    const names: string[] = []
    for (let at = 0; at < 10; at++) {
      const body = { externalGroupId: `g${at}`, roleUid: viewer, scope: root }
      names.push((await api.create(`${path}/${provider}`, body)).uid)
    }
    const replies = await Promise.all(
      [names, [...names].reverse(), names.slice(3)].map((part) =>
        batch(api.token, { parent: provider, names: part }),
      ),
    )
    for (const reply of replies) assert.equal(reply.status, 200, reply.text)
    assert.deepEqual(replies.flatMap(uidsOf).sort(), [...names].sort())
  })

  test('a role with mapped groups cannot be deleted', async () => {
    const { api, root, provider } = await organized()
    const role = await api.create(`iam/roles/${root}`, {
      name: 'mapped',
      capabilities: ['CAP_IAM_GROUPS_LIST'],
    })
    const body = { externalGroupId: 'admins', roleUid: role.uid, scope: root }
    const { uid } = await api.create(`${path}/${provider}`, body)
    const refused = await cast().writesNothing(() => api.delete(`iam/roles/${role.uid}`))
    assertError(refused, failedPreconditionError('RESOURCE_IN_USE'))
    assert.match(refused.body.message, /is used by mappings of external groups$/)
    await api.delete(`${path}/${uid}`)
    assert.equal((await api.delete(`iam/roles/${role.uid}`)).status, 200)
  })

  test('a deletion of another version than was read is rejected', async () => {
    const { api, root, provider } = await organized()
    const body = { externalGroupId: 'admins', roleUid: viewer, scope: root }
    const [one, other] = [
      await api.create(`${path}/${provider}`, body),
      await api.create(`${path}/${provider}`, { ...body, externalGroupId: 'others' }),
    ]
    const { token } = api
    const url = (uid: string) => `${cast().berth.url}/iam/v2beta1/externalGroupRoleMappings/${uid}`
    const etagOf = async (uid: string) =>
      (await call('GET', url(uid), { token })).headers.get('etag') ?? assert.fail()
    const theirs = { 'if-match': await etagOf(other.uid) }
    await cast().writesNothing(async () =>
      assertError(await call('DELETE', url(one.uid), { token, headers: theirs }), {
        status: 412,
        code: 9,
        violation: 'ETAG_MISMATCH',
      }),
    )
    const own = { 'if-match': await etagOf(one.uid) }
    assert.equal((await call('DELETE', url(one.uid), { token, headers: own })).status, 200)
  })

  test('each change writes one audit record, a batch one about the provider', async () => {
    const { organization, api, root, provider } = await organized()
    const body = { externalGroupId: 'admins', roleUid: viewer, scope: root }
    const made = await api.create(`${path}/${provider}`, body)
    await api.post(`${path}/${provider}`, body)
    await api.delete(`${path}/${made.uid}`)
    const methods = (await cast().auditEventsOf(made.uid)).map(({ method }) => method.split('/')[1])
    assert.deepEqual(methods, ['CreateExternalGroupRoleMapping', 'DeleteExternalGroupRoleMapping'])
    const names: string[] = []
    for (const externalGroupId of ['a', 'b'])
      names.push((await api.create(`${path}/${provider}`, { ...body, externalGroupId })).uid)
    await batch(api.token, { parent: provider, names })
    const events = (await cast().auditEventsOf(provider)).filter(({ method }) => method.includes('Mappings'))
    assert.deepEqual(events, [
      {
        method:
          'chainguard.platform.iam.v2beta1.ExternalGroupRoleMappingsService/BatchDeleteExternalGroupRoleMappings',
        actor: organization.owner.uid,
      },
    ])
  })
})
