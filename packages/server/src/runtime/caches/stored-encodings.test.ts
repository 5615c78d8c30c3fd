import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeOnce, storeEncodings } from './stored-encodings.ts'

test('a value is encoded once by each encoder if its encodings are stored, otherwise each time', () => {
  const [json, protobuf] = [{}, {}]
  let encoded = 0
  const encode = () => ++encoded
  const value = {}
  assert.deepEqual([encodeOnce(value, json, encode), encodeOnce(value, json, encode)], [1, 2])
  storeEncodings(value)
  assert.deepEqual([encodeOnce(value, json, encode), encodeOnce(value, json, encode)], [3, 3])
  assert.deepEqual([encodeOnce(value, protobuf, encode), encodeOnce(value, protobuf, encode)], [4, 4])
  assert.equal(encodeOnce({}, json, encode), 5)
})

test('an encoding that failed is tried again', () => {
  const value = {}
  storeEncodings(value)
  const fail = () => {
    throw new Error('no')
  }
  assert.throws(() => encodeOnce(value, value, fail))
  assert.equal(
    encodeOnce(value, value, () => 'text'),
    'text',
  )
})
