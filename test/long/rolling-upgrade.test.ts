import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutPostgres } from '../support/database/postgres.ts'
import { eventually } from '../support/eventually.ts'
import { startCluster } from '../support/rolling/cluster.ts'
import { withoutHaproxy } from '../support/rolling/haproxy.ts'
import { startLoad } from '../support/rolling/load.ts'
import {
  checkOutPreviousRelease,
  previousRelease,
  withoutPreviousRelease,
} from '../support/server/previous-release.ts'
import { runBerth } from '../support/server/process.ts'

const REQUESTS_MIN = 10_000
/** All old, one new, two new, all new. */
const PHASES = 4
const PHASE_MS_MAX = 600_000
/** Enough for each client to finish the request that waited for the migration. */
const REQUESTS_AFTER_MIGRATION = 500
/** What requests may get while this version migrates a database of 0.6 (docs/operating.md, From 0.6 to 0.7). */
const UNAVAILABLE = /14 UNAVAILABLE|503 !==/

test(`a rolling upgrade of three nodes from ${previousRelease.version} behind HAProxy fails none of ${REQUESTS_MIN} requests outside the migration, without retries`, {
  skip: withoutPostgres || withoutHaproxy || withoutPreviousRelease,
}, async (t) => {
  const cluster = await startCluster(t, { version: checkOutPreviousRelease(t) })
  const old = cluster.nodes.map(({ server }) => server)
  const load = startLoad(cluster, 2)
  let phase = 0
  const endOfPhase = () => {
    phase++
    const wanted = (phase * REQUESTS_MIN) / PHASES
    return eventually(() => load.result.total >= wanted, Boolean, { patienceMs: PHASE_MS_MAX })
  }
  await endOfPhase()
  assert.equal(load.result.failures.length, 0, load.result.failures.join('\n'))
  const migrated = await runBerth(t, ['migrate'], cluster.settings)
  assert.equal(migrated.code, 0, migrated.stderr)
  t.diagnostic(migrated.stdout.trim())
  const later = load.result.total + REQUESTS_AFTER_MIGRATION
  await eventually(() => load.result.total >= later, Boolean, { patienceMs: PHASE_MS_MAX })
  const delayed = new Set(load.result.failures)
  t.diagnostic(`${delayed.size} requests failed during the migration`)
  for (const failure of delayed) assert.match(failure, UNAVAILABLE)
  for (const node of cluster.nodes) {
    await node.drain()
    await node.stop()
    await node.start()
    await endOfPhase()
    t.diagnostic(`${load.result.total} requests after node ${phase - 1} of ${cluster.nodes.length}`)
  }
  const { total, requests, groups, images } = await load.stop()
  const failures = () => load.result.failures.filter((failure) => !delayed.has(failure))
  t.diagnostic(`${failures().length} of ${total} requests failed: ${JSON.stringify(requests)}`)
  const errors = old.flatMap((server) => server?.output().stderr.match(/^\{"level":[56]0.{0,2000}/gm) ?? [])
  assert.deepEqual(failures(), [], [...errors, cluster.balancerOutput()].join('\n'))
  await load.verify()
  t.diagnostic(`${groups.length} groups and ${images.length} images were acknowledged and are there`)
  assert.deepEqual(failures(), [])
  const scrub = await runBerth(t, ['admin', 'scrub'], cluster.settings)
  assert.equal(scrub.code, 0, scrub.stdout + scrub.stderr)
})
