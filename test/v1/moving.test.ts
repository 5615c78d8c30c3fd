import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Groups } from '@berth/contract/gen/chainguard/platform/iam/groups_pb.js'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { createMetrics } from '@berth/server/telemetry/metrics.ts'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import type { GrpcFailure } from '../support/api/grpc.ts'
import { v1ClientOf } from '../support/api/v1-client.ts'

/** What announces the end of version 1 to its callers and to operators. */

const names = ['deprecation', 'sunset', 'link']
const deprecationHeaders = [
  '@1801353600',
  'Sat, 31 Jul 2027 10:00:00 GMT',
  '<https://docs.example/migration?from=v1>; rel="deprecation"',
]
const env = {
  BERTH_V1_DEPRECATED_AT: '2027-01-31',
  BERTH_V1_SUNSET_AT: '2027-07-31T12:00:00+02:00',
  BERTH_V1_MIGRATION_URL: 'https://docs.example/migration?from=v1',
  BERTH_RATE_LIMITS: 'read=1000/1s',
  BERTH_CORS_ORIGINS: 'https://console.example',
}

onEveryDatabase(
  'version 1 that is deprecated',
  (cast) => {
    const headersOf = (headers: Headers) => names.map((name) => headers.get(name))

    test('says so in every REST response, and version 2 in none', async () => {
      const { url } = cast().berth
      const { uid, owner } = await cast().organization()
      const old = v1ClientOf(cast(), owner.api)
      const answer = await old.get(`iam/groups?id=${uid}`)
      assert.deepEqual([answer.status, ...headersOf(answer.headers)], [200, ...deprecationHeaders])
      assert.equal(answer.headers.get('ratelimit-limit'), '1000')
      const errors = [
        [400, await old.get('iam/groups?uidp.in_root=perhaps')],
        [403, await old.get(`registry/repos/${'a'.repeat(40)}/deployment`)],
        [400, await old.put('iam/groups/x', {})],
        [401, await v1ClientOf(cast(), { token: 'nobody' }).get('iam/groups')],
      ] as const
      const wrong = await fetch(`${url}/iam/v1/groups`, { method: 'PATCH' })
      assert.deepEqual([wrong.status, ...headersOf(wrong.headers)], [501, ...deprecationHeaders])
      for (const [status, reply] of errors)
        assert.deepEqual(
          [reply.status, ...headersOf(reply.headers)],
          [status, ...deprecationHeaders],
          reply.text,
        )
      for (const path of ['iam/v2beta1/groups', 'iam/v2/groups', 'iam/v1/nothing', 'audit/v1/events']) {
        const { headers } = await fetch(`${url}/${path}`, {
          headers: { authorization: `Bearer ${owner.api.token}` },
        })
        assert.deepEqual(headersOf(headers), [null, null, null], path)
      }
    })

    test('says so in gRPC metadata, with an error in its trailers', async () => {
      const { grpc } = cast()
      const { owner } = await cast().organization()
      const seen: unknown[] = []
      const onMetadata = (metadata: { get(name: string): unknown[] }) =>
        seen.push(names.flatMap((name) => metadata.get(name)))
      const { token } = owner.api
      await grpc.call(Groups.method.list, {}, { token, onMetadata })
      await grpc.call(GroupsService.method.listGroups, {}, { token, onMetadata })
      assert.deepEqual(seen, [deprecationHeaders, []])
      const { delete: remove, list } = Groups.method
      for (const failing of [() => grpc.call(remove, { id: 'x' }, { token }), () => grpc.call(list, {})]) {
        const failed: GrpcFailure = await failing().then(
          () => assert.fail('it did not fail'),
          (error) => error,
        )
        assert.deepEqual(
          names.flatMap((name) => failed.metadata.get(name)),
          deprecationHeaders,
        )
      }
    })

    test('lets pages of other origins replace resources and read when it ends', async () => {
      const { url } = cast().berth
      const origin = 'https://console.example'
      const preflight = await fetch(`${url}/iam/v1/groups/x`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'PUT' },
      })
      assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /\bPUT\b/)
      const { headers } = await fetch(`${url}/iam/v1/groups`, { headers: { origin } })
      const exposed = headers.get('access-control-expose-headers')?.split(', ') ?? []
      assert.deepEqual(
        names.filter((name) => !exposed.includes(name)),
        [],
      )
    })
  },
  { env },
)

onEveryDatabase(
  'calls of version 1',
  (cast) => {
    test('do not announce an end that is not configured', async () => {
      const { owner } = await cast().organization()
      const { headers } = await v1ClientOf(cast(), owner.api).get('iam/groups')
      assert.deepEqual(
        names.map((name) => headers.get(name)),
        [null, null, null],
      )
    })

    test('are counted by method and identity, those of version 2 are not', async () => {
      const { uid, owner } = await cast().organization()
      const old = v1ClientOf(cast(), owner.api)
      await old.get('iam/groups')
      await old.get(`registry/repos?uidp.children_of=${uid}`)
      await old.put('iam/groups/x', {})
      await cast().grpc.call(Groups.method.list, {}, owner.api)
      await owner.api.get('iam/groups')
      await v1ClientOf(cast(), { token: 'nobody' }).get('iam/groups')
      const text = await (await fetch(`${cast().berth.berth.metricsUrl}/metrics`)).text()
      const counted = [
        ...text.matchAll(/^berth_v1_identity_calls_total\{method="([^"]+)",identity="([^"]+)"\} (\d+)$/gm),
      ]
        .filter(([, , identity]) => identity === owner.uid)
        .map(([, method, , calls]) => [method, calls])
        .sort()
      assert.deepEqual(counted, [
        ['chainguard.platform.iam.Groups/List', '2'],
        ['chainguard.platform.iam.Groups/Update', '1'],
        ['chainguard.platform.registry.Registry/ListRepos', '1'],
      ])
    })
  },
  { env: { BERTH_METRICS_LISTEN: '127.0.0.1:0' } },
)

test('the metric of calls of version 1 has a limited number of series', async () => {
  const metrics = createMetrics()
  for (let n = 0; n < limits.v1MetricSeriesMax + 5; n++) metrics.recordV1Call('Groups/List', `caller ${n}`)
  metrics.recordV1Call('Groups/List', 'caller 0')
  metrics.recordV1Call('Groups/Create', 'caller 0')
  const { body } = await metrics.render({ tenants: true })
  const series = body.split('\n').filter((line) => line.startsWith('berth_v1_identity_calls_total{'))
  assert.equal(series.length, limits.v1MetricSeriesMax + 2)
  assert.ok(series.includes('berth_v1_identity_calls_total{method="Groups/List",identity="other"} 5'))
  assert.ok(series.includes('berth_v1_identity_calls_total{method="Groups/Create",identity="other"} 1'))
  assert.ok(series.includes('berth_v1_identity_calls_total{method="Groups/List",identity="caller 0"} 2'))
})
