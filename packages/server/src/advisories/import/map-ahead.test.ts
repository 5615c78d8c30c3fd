import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { mapAhead } from './map-ahead.ts'

const unbounded = { countMax: 100, sizeMax: 1000, sizeOf: () => 0 }

async function collect<T>(results: AsyncIterable<T>): Promise<T[]> {
  const all = []
  for await (const one of results) all.push(one)
  return all
}

test('results are in the order of the items, within both bounds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ size: fc.nat(10), turns: fc.nat(5) })),
      fc.integer({ min: 1, max: 5 }),
      fc.nat(20),
      async (items, countMax, sizeMax) => {
        let [count, size] = [0, 0]
        const results = mapAhead(items, { countMax, sizeMax, sizeOf: (item) => item.size }, async (item) => {
          count++
          size += item.size
          assert.ok(count <= countMax)
          assert.ok(size <= sizeMax || count === 1)
          for (let turn = 0; turn < item.turns; turn++) await Promise.resolve()
          count--
          size -= item.size
          return item
        })
        assert.deepEqual(await collect(results), items)
      },
    ),
  )
})

test('after a failure no further call is made, and those that run are awaited', async () => {
  const started: number[] = []
  const ended: number[] = []
  const results = mapAhead([0, 1, 2, 3, 4], { ...unbounded, countMax: 3 }, async (item) => {
    started.push(item)
    await new Promise((resolve) => setImmediate(resolve))
    if (item === 1) throw new Error('one')
    await new Promise((resolve) => setImmediate(resolve))
    ended.push(item)
    return item
  })
  await assert.rejects(collect(results), { message: 'one' })
  assert.deepEqual(started, [0, 1, 2])
  assert.deepEqual(ended, [0, 2])
})

test('results of items before a failure of the source are not lost', async () => {
  const source = async function* () {
    yield* [1, 2, 3]
    throw new Error('source')
  }
  const results: number[] = []
  const mapped = mapAhead(source(), unbounded, async (item) => {
    await new Promise((resolve) => setImmediate(resolve))
    return item
  })
  await assert.rejects(
    async () => {
      for await (const result of mapped) results.push(result)
    },
    { message: 'source' },
  )
  assert.deepEqual(results, [1, 2, 3])
})

test('a consumer that stops ends the source after the calls that run', async () => {
  let hasEnded = false
  const source = function* () {
    try {
      yield* [1, 2, 3, 4]
    } finally {
      hasEnded = true
    }
  }
  const ended: number[] = []
  const mapped = mapAhead(source(), { ...unbounded, countMax: 2 }, async (item) => {
    await new Promise((resolve) => setImmediate(resolve))
    ended.push(item)
  })
  for await (const _ of mapped) break
  assert.deepEqual([ended, hasEnded], [[1, 2], true])
})
