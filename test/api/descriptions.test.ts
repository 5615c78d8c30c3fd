import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { claimMatch, managedRole, newName, onEveryDatabase } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'

/** A description of several lines, as a heredoc in a Terraform file writes it. */
const description = 'Images of the team.\n\n\tOwner: ada\r\nPager: none\n'
const oidc = { issuer: 'https://login.example', clientId: 'berth', clientSecret: 's' }

onEveryDatabase('a description of several lines', (cast) => {
  test('is stored as it is for every resource that has a description', async () => {
    const { uid: root, owner } = await cast().organization()
    const resources: [path: string, body: object][] = [
      ['iam/groups', {}],
      ['iam/identities', { claimMatch }],
      ['iam/roles', { capabilities: ['CAP_IAM_GROUPS_LIST'] }],
      ['iam/identityProviders', { defaultRole: managedRole('viewer'), oidc }],
      ['iam/accountAssociations', { amazon: { account: '123456789012' } }],
      ['registry/repos', {}],
    ]
    for (const [path, body] of resources) {
      const created = await owner.api.create(`${path}/${root}`, { name: newName('x'), description, ...body })
      assert.equal(created.description, description, path)
      assert.equal((await owner.api.get(`${path}/${created.uid}`)).body.description, description, path)
      const longer = `${description}more`
      const updated = await owner.api.patch(`${path}/${created.uid}`, { description: longer })
      assert.equal(updated.body.description, longer, updated.text)
      const refused = await owner.api.patch(`${path}/${created.uid}`, { description: 'a\u001b[31m' })
      assert.equal(refused.body.details[1].fieldViolations[0].field, 'description', path)
    }
  })

  test('over gRPC and through version 1, too', async () => {
    const { uid: parent, owner } = await cast().organization()
    const { token } = owner.api
    const group = { name: newName('x'), description }
    const created = await cast().grpc.call(GroupsService.method.createGroup, { parent, group }, { token })
    assert.equal(created.description, description)
    const older = await call('PUT', `${cast().berth.url}/iam/v1/groups/${created.uid}`, {
      token,
      body: { name: group.name, description },
    })
    assert.equal(older.body.description, description)
  })
})
