import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createThreadPool } from '@berth/server/runtime/workers/thread-pool.ts'
import { WorkerFailure } from '@berth/server/runtime/workers/worker-process.ts'

/** Threads for short work: whatever one request does, the next is run. */

const module = new URL('./support/server/echo-thread.ts', import.meta.url)
const bounds = { threadsMax: 2, msMax: 10_000, heapMib: 64, idleMs: 60_000 }

test('requests are run, in their order, by as many threads as there may be', async (t) => {
  const pool = createThreadPool<string, string>(module, bounds)
  t.after(() => pool.close())
  assert.deepEqual(pool.counts(), { threads: 0, running: 0, waiting: 0, done: 0 })
  const running = ['a', 'b', 'c', 'd'].map((text) => pool.run(text))
  assert.deepEqual(pool.counts(), { threads: 2, running: 2, waiting: 2, done: 0 })
  assert.deepEqual(await Promise.all(running), ['a done', 'b done', 'c done', 'd done'])
  assert.deepEqual(pool.counts(), { threads: 2, running: 0, waiting: 0, done: 4 })
})

test('a request that fails, ends its thread or takes too long fails alone', async (t) => {
  // Loading the module counts.
  const pool = createThreadPool<string, string>(module, { ...bounds, threadsMax: 1, msMax: 6000 })
  t.after(() => pool.close())
  for (const [request, reason] of [
    ['throw', 'failed'],
    ['exit', 'ended'],
    ['hang', 'time'],
  ] as const) {
    const failing = pool.run(request)
    const next = pool.run('next')
    await assert.rejects(failing, (error) => error instanceof WorkerFailure && error.reason === reason)
    assert.equal(await next, 'next done', request)
  }
})

test('closing stops running and waiting jobs', async () => {
  const pool = createThreadPool<string, string>(module, { ...bounds, threadsMax: 1 })
  const settled = Promise.allSettled([pool.run('hang'), pool.run('waits')])
  await pool.close()
  for (const one of await settled) assert.equal(one.status, 'rejected')
  await assert.rejects(pool.run('later'), WorkerFailure)
})
