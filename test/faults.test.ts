import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from './support/eventually.ts'
import { startLoad } from './support/faults/load.ts'
import { startSite } from './support/faults/site/fault-site.ts'
import { verify } from './support/faults/verify-acknowledged.ts'
import { cleanups } from './support/server/process.ts'

/** More than one piece of work of each kind, and a group that is deleted. */
const REQUESTS_MIN = 15

test('the load of the long suites faults and soak fails no request of a healthy server, and verifies what it wrote', async (t) => {
  // In reverse order: disks are unmounted before their directories are deleted.
  const cleanup = cleanups()
  t.after(() => cleanup.run())
  const site = await startSite(cleanup, { database: 'sqlite' })
  const load = startLoad(site.target, { pauseMs: 2 })
  cleanup.after(async () => {
    await load.stop()
  })
  await eventually(
    () => load.failures.length > 0 || Object.values(load.requests).every((count) => count >= REQUESTS_MIN),
  )
  assert.deepEqual(await load.stop(), [])
  assert.deepEqual(load.failures, [])
  assert.deepEqual([...load.contradictions, ...load.lostWrites], [])
  const { lost, inconsistent } = await verify(cleanup, site, load.acknowledged)
  assert.deepEqual([lost, inconsistent], [[], []])
})
