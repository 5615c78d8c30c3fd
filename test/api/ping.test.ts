import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PingService as V1PingService } from '@berth/contract/gen/chainguard/platform/ping/ping_pb.js'
import { PingService } from '@berth/contract/gen/chainguard/platform/ping/v2beta1/ping_pb.js'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'

onEveryDatabase('ping', (cast) => {
  test('ping needs no token, and ignores an invalid one', async () => {
    const { url } = cast().berth
    for (const token of [undefined, 'nonsense']) {
      for (const version of ['v1', 'v2beta1', 'v2']) {
        const reply = await call('GET', `${url}/ping/${version}/ping`, token === undefined ? {} : { token })
        assert.deepEqual([reply.status, reply.text], [200, '{"response":"pong"}'])
      }
    }
  })

  test('the same over gRPC', async () => {
    assert.equal((await cast().grpc.call(PingService.method.ping, {})).response, 'pong')
    assert.equal((await cast().grpc.call(V1PingService.method.ping, {})).response, 'pong')
  })
})
