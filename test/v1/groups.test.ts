import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Groups, OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/groups_pb.js'
import { newName, onEveryDatabase } from '../support/api/api-fixture.ts'

/** Groups of version 1, in their exact shape. */

onEveryDatabase('groups of version 1', (cast) => {
  test('are created, listed, replaced and deleted in the format of version 1', async () => {
    const { owner, uid: root } = await cast().organization()
    const { token } = owner.api
    const send = async (method: string, path: string, body?: object) => {
      const reply = await fetch(`${cast().berth.url}/iam/v1/groups${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await reply.text()
      return { status: reply.status, text, body: JSON.parse(text) }
    }
    const name = newName('group')
    const made = await send('POST', `/${root}`, { name, description: 'one', nobodyKnows: [{}] })
    assert.equal(made.status, 200, made.text)
    const { id, createdAt, updatedAt } = made.body
    const shape = { id, name, description: 'one', resourceLimits: {}, verified: false }
    const expected = {
      ...shape,
      kind: 'ORG_KIND_UNSPECIFIED',
      status: 'ORG_STATUS_READY',
      createdAt,
      updatedAt,
    }
    assert.deepEqual(made.body, expected)
    const { body: newer } = await owner.api.get(`iam/groups/${id}`)
    assert.deepEqual([newer.createTime, newer.updateTime], [createdAt, updatedAt])
    assert.deepEqual((await send('GET', `?id=${id}&page_size=x`)).body, { items: [expected] })
    assert.deepEqual((await send('GET', '?id=nothing')).body, { items: [] })
    const replaced = await send('PUT', `/${id}`, { id: 'another', name, status: 'ORG_STATUS_SUSPENDED' })
    assert.deepEqual(
      [replaced.body.id, replaced.body.description, replaced.body.status],
      [id, '', 'ORG_STATUS_READY'],
    )
    const bad = await send('PUT', '/abc', { name })
    assert.deepEqual(bad.body.details[1].fieldViolations[0].field, 'id', bad.text)

    const { items } = await cast().grpc.call(Groups.method.list, { uidp: { childrenOf: root } }, { token })
    assert.deepEqual(
      items.map((item) => [item.id, item.status]),
      [[id, OrgStatus.READY]],
    )
    const deleted = await send('DELETE', `/${id}`)
    assert.deepEqual([deleted.status, deleted.text], [200, '{}'])
  })
})
