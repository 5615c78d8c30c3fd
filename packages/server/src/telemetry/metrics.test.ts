import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../config/limits.ts'
import { withTimeout } from '../runtime/timeout.ts'
import { createMetrics } from './metrics.ts'

test('metrics are served while a disk does not answer (metricReadMsMax)', async () => {
  const metrics = createMetrics()
  metrics.watchDisks(() => new Promise(() => {}))
  const { body } = await withTimeout(2 * limits.metricReadMsMax, metrics.render({ tenants: false }))
  assert.match(body, /berth_build_info/)
  assert.doesNotMatch(body, /^berth_disk_free_bytes\{/m)
})
