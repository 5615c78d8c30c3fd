import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutPostgres } from '../support/database/postgres.ts'
import { startCluster } from '../support/rolling/cluster.ts'
import { withoutHaproxy } from '../support/rolling/haproxy.ts'
import { startLoad } from '../support/rolling/load.ts'

const REQUESTS_MIN = 10_000

test(`rolling restarts of three nodes behind HAProxy fail none of ${REQUESTS_MIN} requests, without retries`, {
  skip: withoutPostgres || withoutHaproxy,
}, async (t) => {
  const cluster = await startCluster(t)
  const load = startLoad(cluster, 2)
  let restarts = 0
  for (; load.result.total < REQUESTS_MIN; restarts++) await cluster.rollingRestart()
  const { failures, total, requests, groups, images } = await load.stop()
  t.diagnostic(
    `${restarts} rolling restarts, ${failures.length} of ${total} requests failed: ${JSON.stringify(requests)}`,
  )
  assert.deepEqual(failures, [], cluster.balancerOutput())
  await load.verify()
  t.diagnostic(`${groups.length} groups and ${images.length} images were acknowledged and are there`)
  assert.deepEqual(failures, [])
})
