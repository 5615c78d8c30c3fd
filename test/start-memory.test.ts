import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { serveBerth, temporaryDirectory } from './support/server/process.ts'

const MIB = 1024 ** 2
const WAIT_MS_MAX = 60_000

for (const workers of ['1', '2'])
  test(`an idle server returns the memory of its start (workers: ${workers})`, async (t) => {
    const { url } = await serveBerth(t, { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_WORKERS: workers })
    /** Of all processes together. */
    const youngGeneration = async () => {
      const text = await (await fetch(`${url}/metrics`)).text()
      return Number(/^nodejs_heap_space_size_total_bytes\{space="new"\} (\d+)$/m.exec(text)?.[1])
    }
    // V8 keeps 16 to 32 MiB of it after a start, and uses little of it.
    for (const endMs = Date.now() + WAIT_MS_MAX; !((await youngGeneration()) < 8 * MIB); await pause(100))
      assert.ok(Date.now() < endMs, 'the memory was not returned')
  })
