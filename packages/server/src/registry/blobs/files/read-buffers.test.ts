import assert from 'node:assert/strict'
import type { FileHandle } from 'node:fs/promises'
import { test } from 'node:test'
import { limits } from '../../../config/limits.ts'
import { createReadBuffers } from './read-buffers.ts'

/** What files cannot be made to do: to fail for one reader, or to end early. What readers get: file-system.test.ts. */

const LARGE = 512 * 1024
const SMALL = 64 * 1024
const LARGE_MAX = limits.blobPiecesBytesMax / LARGE

test('a read that fails does not fail the readers that wait for the same piece, and takes no memory', async () => {
  const { read } = createReadBuffers()
  const failure = new Error('stale file handle')
  const broken = { read: () => Promise.reject(failure) } as unknown as FileHandle
  const good = {
    read: async (buffer: Buffer, _: number, length: number) => ({
      bytesRead: buffer.fill(7, 0, length) && length,
    }),
  } as unknown as FileHandle
  for (let at = 0; at < 2 * LARGE_MAX; at++) {
    const [first, second] = await Promise.allSettled([
      read({ file: broken, cacheKey: 'a' }, at, LARGE),
      read({ file: good, cacheKey: 'a' }, at, LARGE),
    ])
    assert.equal(first.status === 'rejected' && first.reason, failure)
    assert.equal(second.status === 'fulfilled' && second.value.bytes[0], 7)
    if (second.status === 'fulfilled') second.value.release()
  }
  const lengths = []
  for (let at = 0; at <= LARGE_MAX; at++)
    lengths.push((await read({ file: good, cacheKey: 'b' }, at, LARGE)).bytes.length)
  assert.deepEqual(lengths, [...Array(LARGE_MAX).fill(LARGE), SMALL])
})

test('a piece that ended early is not cached', async () => {
  const { read } = createReadBuffers()
  const fileOf = (bytesRead: number) => ({ read: async () => ({ bytesRead }) }) as unknown as FileHandle
  const lengths = []
  for (const file of [fileOf(10), fileOf(LARGE)]) {
    const piece = await read({ file, cacheKey: 'a' }, 0, LARGE)
    lengths.push(piece.bytes.length)
    piece.release()
  }
  assert.deepEqual(lengths, [10, LARGE])
})

test('reads that are not cached do not displace cached pieces', async () => {
  const { read } = createReadBuffers()
  const filled: number[] = []
  const file = {
    read: async (_: Buffer, __: number, length: number, position: number) => {
      filled.push(position)
      return { bytesRead: length }
    },
  } as unknown as FileHandle
  const readOnce = async (cacheKey: string | undefined, position: number) =>
    (await read({ file, cacheKey }, position, LARGE)).release()
  for (let at = 0; at < LARGE_MAX - 1; at++) await readOnce('a', at)
  for (let at = 0; at < 2 * LARGE_MAX; at++) await readOnce(undefined, at)
  filled.length = 0
  for (let at = 0; at < LARGE_MAX - 1; at++) await readOnce('a', at)
  assert.deepEqual(filled, [])
})
