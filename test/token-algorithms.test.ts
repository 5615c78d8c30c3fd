import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { onEveryDatabase } from './support/api/api-fixture.ts'
import { call } from './support/api/rest.ts'
import { basicAuth, requestAt } from './support/registry/registry.ts'
import { unsignedJws } from './support/tokens/issuer.ts'

/** R6: a key of this server verifies only signatures of its own algorithm, whatever the header of a token says. */

for (const [algorithm, other] of [
  ['ES256', 'RS256'],
  ['RS256', 'ES256'],
] as const)
  onEveryDatabase(
    `a token that names ${other} and a key of ${algorithm}`,
    (cast) => {
      test('R6: it is rejected as invalid by the API, gRPC, and the registry', async () => {
        const { berth, grpc } = cast()
        const { kid } = await berth.berth.installation.keys.current()
        const now = Math.floor(Date.now() / 1000)
        for (const typ of ['at+jwt', 'registry+jwt']) {
          const token = unsignedJws(
            { alg: other, kid, typ },
            { iss: berth.url, sub: berth.owner, aud: berth.url, iat: now, exp: now + 300 },
          )
          const rest = await call('GET', `${berth.url}/iam/v2beta1/groups`, { token })
          assert.equal(rest.status, 401, rest.text)
          assert.match(rest.body.message, /the token was not issued by this server/)
          const code = await grpc.call(GroupsService.method.listGroups, {}, { token }).then(
            () => 0,
            ({ code }: { code: number }) => code,
          )
          assert.equal(code, 16)
          for (const [path, authorization] of [
            ['/v2/', `Bearer ${token}`],
            ['/token', `Bearer ${token}`],
            ['/token', basicAuth('_token', token)],
            ['/sts/exchange', `Bearer ${token}`],
          ] as const) {
            const { status } = await requestAt(`${berth.url}${path}`, 'GET', {}, authorization)
            assert.ok(status >= 400 && status < 500, `${path} ${authorization.slice(0, 6)}: ${status}`)
          }
        }
        assert.deepEqual(berth.errors, [])
      })
    },
    { env: { BERTH_SIGNING_ALGORITHM: algorithm } },
  )
