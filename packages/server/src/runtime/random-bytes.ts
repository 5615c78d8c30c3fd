import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 4096
let pool = Buffer.alloc(0)
let used = 0

/**
 * Returns random bytes, at most 4096. Each byte is returned once. A call of the generator of node:crypto costs more than most uses of a few
 * bytes, so it fills many.
 */
export function takeRandomBytes(length: number): Buffer {
  if (length > POOL_BYTES) throw new RangeError(`at most ${POOL_BYTES} random bytes`)
  if (pool.length - used < length) {
    // A new buffer: callers may keep the bytes.
    pool = randomFillSync(Buffer.allocUnsafe(POOL_BYTES))
    used = 0
  }
  const bytes = pool.subarray(used, used + length)
  used += length
  return bytes
}
