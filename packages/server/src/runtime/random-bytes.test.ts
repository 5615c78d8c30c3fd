import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takeRandomBytes } from './random-bytes.ts'

test('random bytes have the length that was requested, differ, and stay as they are', () => {
  const lengths = Array.from({ length: 2000 }, (_, index) => 8 + (index % 13))
  const taken = lengths.map((length) => takeRandomBytes(length))
  const texts = taken.map((bytes) => bytes.toString('hex'))
  for (const length of lengths) takeRandomBytes(length)
  assert.deepEqual(
    taken.map(({ length }) => length),
    lengths,
  )
  assert.equal(new Set(texts).size, texts.length)
  assert.deepEqual(
    taken.map((bytes) => bytes.toString('hex')),
    texts,
  )
})

test('returns as many bytes as are filled together, and not more', () => {
  assert.equal(new Set([4096, 1, 4096].map((length) => takeRandomBytes(length).toString('hex'))).size, 3)
  assert.throws(() => takeRandomBytes(4097), RangeError)
})
