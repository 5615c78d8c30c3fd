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

test('a growing cache keeps both the bound of the count and that of the sizes', () => {
  const lengthOf = { sizeMax: 30, sizeOf: (value: string) => value.length }
  const short = createGrowingCache<string>(3, lengthOf)
  for (const key of ['a', 'b', 'c', 'd']) short.set(key, key)
  assert.deepEqual([...short.keys()].sort(), ['b', 'c', 'd'])
  const long = createGrowingCache<string>(3, lengthOf)
  for (const key of ['a', 'b', 'c']) long.set(key, key.repeat(14))
  assert.deepEqual([...long.keys()].sort(), ['b', 'c'])
  long.set('c', 'c'.repeat(31))
  assert.deepEqual([...long.keys()], ['b'])
})
