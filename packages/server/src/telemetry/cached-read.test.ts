import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cachedRead } from './cached-read.ts'

const hour = 3_600_000

test('a read that fails returns the last result, and is counted', async () => {
  let fails = false
  let failures = 0
  const read = cachedRead(
    async () => {
      if (fails) throw new Error('the database does not respond')
      return 7
    },
    () => failures++,
    { readMsMax: hour, cacheMsMax: hour },
  )
  assert.equal(await read(), 7)
  fails = true
  assert.equal(await read(), 7)
  assert.equal(failures, 1)
})

test('a cached result expires', async () => {
  let now = 0
  let fails = false
  const read = cachedRead(
    async () => {
      if (fails) throw new Error('the database does not respond')
      return 7
    },
    () => undefined,
    { readMsMax: hour, cacheMsMax: 1000 },
    () => now,
  )
  await read()
  fails = true
  now = 1000
  assert.equal(await read(), 7)
  now = 1001
  assert.equal(await read(), undefined)
  fails = false
  assert.equal(await read(), 7)
})

test('a read that hangs times out and is not started again before it ends', async () => {
  let started = 0
  let end = (_: number) => {}
  const read = cachedRead(
    () => {
      started++
      return new Promise<number>((resolve) => {
        end = resolve
      })
    },
    () => undefined,
    { readMsMax: 1, cacheMsMax: hour },
  )
  assert.equal(await read(), undefined)
  assert.equal(await read(), undefined)
  assert.equal(started, 1)
  end(8)
  await new Promise(setImmediate)
  const second = read()
  end(9)
  assert.equal(await second, 9)
  assert.equal(started, 2)
})

test('a read that ends late is the next result while the one after it hangs', async () => {
  const ends: ((value: number) => void)[] = []
  const read = cachedRead(
    () => new Promise<number>((resolve) => ends.push(resolve)),
    () => undefined,
    { readMsMax: 1, cacheMsMax: hour },
  )
  assert.equal(await read(), undefined)
  ends[0]?.(8)
  await new Promise(setImmediate)
  assert.equal(await read(), 8)
  assert.equal(ends.length, 2)
})
