import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { IdentitiesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { RoleBindingsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { RolesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { BadRequestSchema } from '@berth/contract/gen/google/rpc/error_details_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import { assertError, invalidFieldError, onEveryDatabase } from './support/api/api-fixture.ts'
import type { GrpcFailure } from './support/api/grpc.ts'
import { methods, requestAt, shortName } from './support/api/methods.ts'
import { call } from './support/api/rest.ts'
import { nameOf, textFields, withText } from './support/api/text-fields.ts'

/** U+0000, which PostgreSQL cannot store in a text. */

onEveryDatabase('the character U+0000', (cast) => {
  const get = (path: string) => call('GET', `${cast().berth.url}${path}`, { token: cast().berth.token })

  test('in the query is refused, naming the parameter', async () => {
    for (const [path, field] of [
      ['/iam/v2beta1/groups?name=a%00', 'name'],
      ['/iam/v2beta1/groups?uidp.descendants_of=%00', 'uidp.descendants_of'],
      ['/iam/v2beta1/groups?uidp.descendantsOf=%00', 'uidp.descendants_of'],
      ['/iam/v2beta1/roleBindings?identity=%00', 'identity'],
      ['/iam/v2beta1/groupInvites?key_id=%00', 'key_id'],
      ['/registry/v2beta1/repos?name=ngi%00nx', 'name'],
      ['/registry/v2beta1/tags?name=%00', 'name'],
      ['/audit/v1/events?actor=%00', 'actor'],
      ['/audit/v1/events:export?actor=%00', 'actor'],
    ] as const)
      assertError(await get(path), invalidFieldError(field))
    assert.equal((await get('/iam/v1/groups?no-such-parameter=%00')).status, 200)
  })

  test('in the path is refused, naming what it fills', async () => {
    assertError(await get('/iam/v2beta1/groups/a%00'), invalidFieldError('uid'))
    assertError(await get(`/iam/v2beta1/groups/${cast().berth.organization}%00`), invalidFieldError('uid'))
    const digest = `/registry/v2beta1/repos/${cast().berth.organization}/digests/sha256:%00/size`
    assertError(await get(digest), invalidFieldError('digest'))
  })

  test('in the body is refused, naming the member as the caller wrote it', async () => {
    const { owner, uid } = await cast().organization()
    const { api } = owner
    const group = await api.create(`iam/groups/${uid}`, { name: 'team' })
    for (const [path, body, field] of [
      ['iam/groups', { name: 'a', description: '\u0000' }, 'description'],
      ['iam/identities', { name: 'a', claimMatch: { issuer: 'a\u0000' } }, 'claimMatch.issuer'],
      ['iam/identities', { name: 'a', claim_match: { issuer: 'a\u0000' } }, 'claim_match.issuer'],
      ['iam/identities', { name: 'a', claimMatch: { claims: { a: '\u0000' } } }, 'claimMatch.claims.a'],
      ['iam/identities', { name: 'a', claimMatch: { claims: { 'a\u0000': '' } } }, 'claimMatch.claims'],
      ['iam/roleBindings', { identityUid: '\u0000', roleUid: uid }, 'identityUid'],
      ['iam/groupInvites', { roleUid: uid, email: 'ada@example.com\u0000' }, 'email'],
      ['registry/repos', { name: 'a', aliases: ['b', '\u0000'] }, 'aliases[1]'],
    ] as const)
      assertError(
        await cast().writesNothing(() => api.post(`${path}/${uid}`, body)),
        invalidFieldError(field),
      )
    const patched = await api.patch(`iam/groups/${group.uid}`, { name: '\u0000' })
    assertError(patched, invalidFieldError('name'))
    const raw = await call('POST', `${cast().berth.url}/iam/v2beta1/groups/${uid}`, {
      token: api.token,
      body: '{"name":"a","description":"\u0000"}',
    })
    assert.equal(raw.status, 400, raw.text)
    assert.equal((await api.post(`iam/groups/${uid}`, { name: 'a', description: '\\u0000' })).status, 200)
  })

  const fieldsOf = ({ status }: GrpcFailure): string[] => {
    const detail = status?.details.find(({ typeUrl }) => typeUrl.endsWith('google.rpc.BadRequest'))
    if (detail === undefined) return []
    return fromBinary(BadRequestSchema, detail.value).fieldViolations.map(({ field }) => field)
  }

  test('over gRPC is refused, naming the field', async () => {
    const { grpc, berth } = cast()
    const { token, organization: parent } = berth
    const refusal = async (run: () => Promise<unknown>) => {
      const failure: GrpcFailure = await run().then(
        () => assert.fail('was taken'),
        (error) => error,
      )
      return [failure.code, ...fieldsOf(failure)]
    }
    const { listGroups, createGroup, updateGroup } = GroupsService.method
    const { batchCreateRoleBindings } = RoleBindingsService.method
    const { createIdentity } = IdentitiesService.method
    const made = (relationship: object) =>
      grpc.call(createIdentity, { parent, identity: { name: 'a', relationship } as never }, { token })
    const binding = { identityUid: parent, roleUid: parent }
    const requests = [{ roleBinding: binding }, { roleBinding: { ...binding, roleUid: '\u0000' } }]
    const claims = { case: 'claimMatch', value: { claims: { a: '\u0000' } } }
    for (const [run, field] of [
      [() => grpc.call(listGroups, { name: '\u0000' }, { token }), 'name'],
      [() => grpc.call(listGroups, { orderBy: '\u0000' }, { token }), 'order_by'],
      [() => grpc.call(listGroups, { uidp: { ids: ['a', '\u0000'] } }, { token }), 'uidp.ids[1]'],
      [() => grpc.call(createGroup, { parent, group: { name: '\u0000' } }, { token }), 'name'],
      [() => grpc.call(createGroup, { parent: '\u0000' }, { token }), 'parent'],
      [() => grpc.call(updateGroup, { group: { uid: '\u0000' } }, { token }), 'uid'],
      [
        () => made({ case: 'claimMatch', value: { iss: { case: 'issuer', value: '\u0000' } } }),
        'claim_match.issuer',
      ],
      [() => made(claims), 'claim_match.claims[a]'],
      [
        () => grpc.call(batchCreateRoleBindings, { parent, requests }, { token }),
        'requests[1].role_binding.role_uid',
      ],
    ] as const)
      assert.deepEqual(await refusal(run), [3, field])
  })

  test('is refused in every text of every method', async () => {
    const { grpc, berth } = cast()
    for (const method of methods) {
      for (const field of textFields(method.input)) {
        const request = withText(requestAt(method, berth.organization), field, 'a\u0000b')
        const place = `${shortName(method)} ${nameOf(field)}`
        await assert.rejects(grpc.call(method, request as never, { token: berth.token }), (failure) => {
          assert.equal((failure as GrpcFailure).code, 3, `${place}: ${(failure as Error).message}`)
          assert.equal(fieldsOf(failure as GrpcFailure).length, 1, place)
          return true
        })
      }
    }
  })

  test('is a byte like any other where there is no text', async () => {
    const { grpc, berth } = cast()
    const { token, organization: parent } = berth
    const { createGroup } = GroupsService.method
    // The length of an empty message is a zero byte.
    await assert.rejects(grpc.call(createGroup, { parent, group: {} }, { token }), (failure) => {
      assert.deepEqual(fieldsOf(failure as GrpcFailure), ['name'])
      return true
    })
    const { listRoles } = RolesService.method
    await grpc.call(listRoles, { uidp: {}, pageSize: 128 }, { token })
  })
})
