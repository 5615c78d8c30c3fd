import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sumSizes } from './tag-sizes.ts'

const own = new Map(Array.from({ length: 100 }, (_, n) => [`m${n}`, 1] as const))
const children = new Map(
  ['a', 'b', 'c'].map((index) => [index, Array.from({ length: 100 }, (_, n) => `m${n}`)]),
)

test('an image that indexes share counts once for each of them', async () => {
  const nested = new Map([...children, ['top', ['a', 'b', 'm0', 'top']]])
  assert.deepEqual(
    [...(await sumSizes(['top', 'c', 'm1', 'none'], { children: nested, own, max: 1000 }))],
    [
      ['top', 100],
      ['c', 100],
      ['m1', 1],
      ['none', 0],
    ],
  )
})

test('tags beyond the bound have no size', async () => {
  assert.deepEqual(
    [...(await sumSizes(['a', 'b', 'c'], { children, own, max: 250 }))],
    [
      ['a', 100],
      ['b', 100],
    ],
  )
})
