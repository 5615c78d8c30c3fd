import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { limits } from '../../config/limits.ts'
import { createReplyBatch } from './reply-batch.ts'

describe('replies of a turn of the event loop', () => {
  test('leave at its end, in their order', async () => {
    const batch = createReplyBatch(3)
    const sent: number[] = []
    for (const reply of [1, 2]) batch(() => sent.push(reply))
    await Promise.resolve()
    assert.equal(sent.length, 0)
    await setImmediate()
    assert.deepEqual(sent, [1, 2])
    batch(() => sent.push(3))
    await setImmediate()
    assert.deepEqual(sent, [1, 2, 3])
  })

  test('leave earlier when there are replyBatchMax', async () => {
    const batch = createReplyBatch(limits.replyBatchMax)
    let sent = 0
    for (let reply = 0; reply < limits.replyBatchMax - 1; reply++) batch(() => sent++)
    assert.equal(sent, 0)
    batch(() => sent++)
    assert.equal(sent, limits.replyBatchMax)
    batch(() => sent++)
    await setImmediate()
    assert.equal(sent, limits.replyBatchMax + 1)
  })

  test('do not run in the context of another request', async () => {
    const request = new AsyncLocalStorage<string>()
    const batch = createReplyBatch(2)
    const contexts: (string | undefined)[] = []
    const reply = () => batch(() => contexts.push(request.getStore()))
    for (const name of ['first', 'second', 'third']) request.run(name, reply)
    await setImmediate()
    assert.deepEqual(contexts, [undefined, undefined, undefined])
  })
})
