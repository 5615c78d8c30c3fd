import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { afterIteration } from './after-iteration.ts'

test('work runs after the iteration of the event loop, in order and in no context', async () => {
  const context = new AsyncLocalStorage<string>()
  const seen: (string | undefined)[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const name of ['first', 'second'])
    context.run(name, () => afterIteration(() => seen.push(`${name} in ${context.getStore()}`)))
  afterIteration(resolve)
  assert.deepEqual(seen, [])
  await promise
  assert.deepEqual(seen, ['first in undefined', 'second in undefined'])
})
