import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../config/limits.ts'
import type { Db } from '../db.ts'
import { createVersionCache, type VersionCacheLimits } from './version-cache.ts'

/** A database whose version the test sets, and how often something was read. */
function fixture(version: number | undefined) {
  const state = { version, reads: 0 }
  const db = { version: () => state.version } as unknown as Db
  const read = (value: string) => () => {
    state.reads++
    return value
  }
  return { state, db, read }
}

/** A cache of values of size 1, and what it has stored. */
function recordingCache(options: Partial<VersionCacheLimits<string>> = {}) {
  const stored: string[] = []
  const onStore = (value: string) => stored.push(value)
  const cached = createVersionCache<string>({ max: 100, maxSize: 1000, sizeOf: () => 1, onStore, ...options })
  return { cached, stored }
}

const onlyRepeated = { roughSizeOf: () => 1 }

const cacheOf = (maxSize: number) =>
  createVersionCache<string>({ max: 100, maxSize, sizeOf: (value, key) => value.length + key.length })

test('a value is reused until the database is written to', () => {
  const { state, db, read } = fixture(1)
  const cached = cacheOf(100)
  assert.equal(cached(db, 'a', read('old')), 'old')
  assert.equal(cached(db, 'a', read('new')), 'old')
  assert.equal(cached(db, 'b', read('other')), 'other')
  state.version = 2
  assert.equal(cached(db, 'a', read('new')), 'new')
  assert.equal(state.reads, 3)
})

test('a value that was read during a write is not reused', async () => {
  const { state, db, read } = fixture(1)
  const cached = cacheOf(100)
  const slow = Promise.withResolvers<string>()
  const first = cached(db, 'a', () => slow.promise)
  state.version = 2
  slow.resolve('old')
  assert.equal(await first, 'old')
  assert.equal(cached(db, 'a', read('new')), 'new')
})

test('a value is not stored if the database was written to while it was read', async () => {
  const { state, db, read } = fixture(1)
  const { cached, stored } = recordingCache()
  const slow = Promise.withResolvers<string>()
  const first = cached(db, 'a', () => slow.promise)
  state.version = 2
  assert.equal(cached(db, 'a', read('new')), 'new')
  slow.resolve('old')
  assert.equal(await first, 'old')
  assert.equal(cached(db, 'a', read('other')), 'new')
  assert.deepEqual(stored, ['new'])
})

test('a failure is not cached', async () => {
  const { db, read } = fixture(1)
  const cached = cacheOf(100)
  await assert.rejects(async () => cached(db, 'a', () => Promise.reject(new Error('no'))))
  assert.equal(cached(db, 'a', read('value')), 'value')
})

test('nothing is cached where the database does not report writes', async () => {
  const { state, db, read } = fixture(undefined)
  const cached = cacheOf(100)
  for (let n = 0; n < 3; n++) await cached(db, 'a', read('value'))
  assert.equal(state.reads, 3)
})

test('values together hold at most maxSize, such as cachedManifestBytesMax, and the newest stay', async () => {
  assert.equal(limits.cachedManifestBytesMax, 4 * 1024 ** 2)
  const { state, db, read } = fixture(1)
  const cached = cacheOf(20)
  await cached(db, 'a', read('123456789'))
  await cached(db, 'b', read('123456789'))
  await cached(db, 'c', read('123456789'))
  await cached(db, 'c', read('123456789'))
  assert.equal(state.reads, 3)
  await cached(db, 'a', read('123456789'))
  assert.equal(state.reads, 4)
  // One that is larger is read each time.
  for (let n = 0; n < 2; n++) await cached(db, 'd', read('1'.repeat(30)))
  assert.equal(state.reads, 6)
})

test('with `onlyRepeated`, a value is stored when it is read again before the next write', async () => {
  const { state, db, read } = fixture(1)
  const { cached, stored } = recordingCache({ onlyRepeated })
  const readOften = async (times: number) => {
    for (let n = 0; n < times; n++) await cached(db, 'a', read('value'))
  }
  await readOften(5)
  assert.deepEqual([state.reads, stored], [2, ['value']])
  state.version = 2
  await readOften(5)
  assert.deepEqual([state.reads, stored.length], [4, 2])
  await cached(db, 'b', read('other'))
  assert.deepEqual([state.reads, stored.length], [5, 2])
})

test('with `onlyRepeated`, nothing is stored when more is read in turn than the cache holds', async () => {
  const { state, db, read } = fixture(1)
  const { cached, stored } = recordingCache({ onlyRepeated, maxSize: 10 })
  const readInTurn = async (count: number) => {
    for (let round = 0; round < 5; round++)
      for (let n = 0; n < count; n++) await cached(db, `key ${n}`, read(`${n}`))
  }
  await readInTurn(11)
  assert.deepEqual([state.reads, stored], [55, []])
  await readInTurn(5)
  assert.ok(stored.length >= 5)
})
