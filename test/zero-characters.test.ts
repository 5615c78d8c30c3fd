import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService } from '#gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { IdentitiesService } from '#gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { assertRefused, badField, managedRole, newName, onEveryDatabase } from './support/cast.ts'
import { call, type RestReply } from './support/rest.ts'

/** U+0000, which PostgreSQL cannot store in a text. */

onEveryDatabase('the character U+0000', (cast) => {
  const zero = 'a\u0000b'
  const refused = (reply: RestReply, field: string) => assertRefused(reply, badField(field))

  test('is refused in a query, a path and a body, naming the field', async () => {
    const { owner, uid: root } = await cast().organization()
    const { token } = owner.api
    const at = (path: string) => `${cast().berth.url}/iam/v2beta1/${path}`
    refused(await call('GET', at('groups?name=a%00'), { token }), 'name')
    refused(
      await call('GET', at('identities:lookupIdentity?issuer=https://i.example&subject=%00'), { token }),
      'subject',
    )
    refused(await call('GET', at('groups/a%00'), { token }), 'uid')
    refused(
      await owner.api.post(`iam/groups/${root}`, { name: newName('g'), description: zero }),
      'description',
    )
    refused(
      await owner.api.post(`iam/identities/${root}`, {
        name: 'n',
        claimMatch: { issuer: 'https://i.example', subject: 's', claims: { team: zero } },
      }),
      'claimMatch.claims.team',
    )
    refused(
      await owner.api.post(`iam/roleBindings:batchCreate`, {
        parent: root,
        requests: [{ roleBinding: { identityUid: zero, roleUid: managedRole('viewer') } }],
      }),
      'requests[0].roleBinding.identityUid',
    )
  })

  test('is refused over gRPC, and a number with a zero byte is not', async () => {
    const { owner, uid: root } = await cast().organization()
    const { token } = owner.api
    const { listGroups, createGroup } = GroupsService.method
    await assert.rejects(cast().grpc.call(listGroups, { name: zero }, { token }), { code: 3 })
    await assert.rejects(
      cast().grpc.call(createGroup, { parent: root, group: { name: 'x', description: zero } }, { token }),
      { code: 3 },
    )
    const { lookupIdentity } = IdentitiesService.method
    await assert.rejects(
      cast().grpc.call(lookupIdentity, { issuer: 'https://i.example', subject: zero }, { token }),
      { code: 3 },
    )
    await cast().grpc.call(listGroups, { skip: 0, pageSize: 128 }, { token })
  })
})
