import assert from 'node:assert/strict'
import { test } from 'node:test'
import { releaseBytes } from './release-bytes.ts'

test('bytes that have their memory for themselves are gone', () => {
  const chunk = Buffer.from(new ArrayBuffer(3)).fill(1)
  releaseBytes(chunk)
  assert.equal(chunk.length, 0)
})

test('bytes that share memory stay, and so do the others in it', () => {
  const memory = new Uint8Array([1, 2, 3])
  for (const chunk of [memory.subarray(1), memory.subarray(0, 2), Buffer.from('in the pool of Node')]) {
    const before = [...chunk]
    releaseBytes(chunk)
    assert.deepEqual([...chunk], before)
  }
  assert.deepEqual([...memory], [1, 2, 3])
})

test('nothing happens to no bytes, and to bytes that were released before', () => {
  const chunk = new Uint8Array([1])
  for (const bytes of [new Uint8Array(0), chunk, chunk]) releaseBytes(bytes)
  assert.equal(chunk.length, 0)
})
