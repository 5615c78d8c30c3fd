import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { limits } from '../../config/limits.ts'
import { createReplyBatch } from './reply-batch.ts'

const sleep = (ms: number) => {
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
}

describe('replies of an iteration of the event loop', () => {
  test('are sent at its end, in their order', async () => {
    const batch = createReplyBatch({ ...limits, replyBatchMs: 60_000 })
    const sent: number[] = []
    for (const reply of [1, 2]) batch.add(() => sent.push(reply))
    batch.sendIfOld()
    await Promise.resolve()
    assert.equal(sent.length, 0)
    await setImmediate()
    assert.deepEqual(sent, [1, 2])
    batch.add(() => sent.push(3))
    await setImmediate()
    assert.deepEqual(sent, [1, 2, 3])
  })

  test('are sent earlier when there are replyBatchMax', async () => {
    const batch = createReplyBatch({ ...limits, replyBatchMs: 60_000 })
    let sent = 0
    for (let reply = 0; reply < limits.replyBatchMax - 1; reply++) batch.add(() => sent++)
    assert.equal(sent, 0)
    batch.add(() => sent++)
    assert.equal(sent, limits.replyBatchMax)
    batch.add(() => sent++)
    await setImmediate()
    assert.equal(sent, limits.replyBatchMax + 1)
  })

  test('are sent before the next request when they have waited for replyBatchMs', () => {
    const batch = createReplyBatch(limits)
    let sent = 0
    batch.add(() => sent++)
    sleep(2 * limits.replyBatchMs)
    assert.equal(sent, 0)
    batch.sendIfOld()
    assert.equal(sent, 1)
  })

  test('do not run in the context of another request', async () => {
    const request = new AsyncLocalStorage<string>()
    const batch = createReplyBatch({ replyBatchMax: 2, replyBatchMs: 60_000 })
    const contexts: (string | undefined)[] = []
    const reply = () => batch.add(() => contexts.push(request.getStore()))
    for (const name of ['first', 'second', 'third']) request.run(name, reply)
    await setImmediate()
    assert.deepEqual(contexts, [undefined, undefined, undefined])
  })
})
