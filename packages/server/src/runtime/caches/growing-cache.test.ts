import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGrowingCache } from './growing-cache.ts'

test('a growing cache keeps the entries that were used last', () => {
  const cache = createGrowingCache<number>(3)
  for (const [value, key] of ['a', 'b', 'c'].entries()) cache.set(key, value)
  cache.get('a')
  cache.set('d', 3)
  assert.deepEqual([...cache.keys()].sort(), ['a', 'c', 'd'])
})

test('a growing cache counts a replaced entry once', () => {
  const cache = createGrowingCache<number>(2)
  cache.set('a', 1)
  cache.set('b', 2)
  cache.set('b', 3)
  assert.deepEqual(
    ['a', 'b'].map((key) => cache.get(key)),
    [1, 3],
  )
})
