/**
 * A pool of read buffers: allocating memory costs more than reading. A few concurrent reads get large buffers, since large chunks are
 * cheap to send; many get small ones, which limits their total. Larger ones than these no longer fit into the caches of processors.
 */
export interface ReadBuffers {
  /** Returns a buffer for a read of `bytes` in total. */
  acquire(bytes: number): Buffer
  /** Returns a buffer to the pool when it is no longer used. */
  release(buffer: Buffer): void
  /** Drops a buffer that may still be in use by a connection. */
  abandon(buffer: Buffer): void
}

const KIB = 1024
/** Buffer size, how many concurrent reads get it, and how many buffers are kept. */
const LARGE = { bytes: 512 * KIB, atOnceMax: 32 }
const SMALL = { bytes: 64 * KIB, keptMax: 64 }

export function createReadBuffers(): ReadBuffers {
  const large: Buffer[] = []
  const small: Buffer[] = []
  let largeMade = 0
  return {
    acquire(bytes) {
      if (bytes <= SMALL.bytes) return small.pop() ?? Buffer.allocUnsafeSlow(SMALL.bytes)
      const known = large.pop()
      if (known !== undefined) return known
      if (largeMade === LARGE.atOnceMax) return small.pop() ?? Buffer.allocUnsafeSlow(SMALL.bytes)
      largeMade++
      return Buffer.allocUnsafeSlow(LARGE.bytes)
    },
    release(buffer) {
      if (buffer.length === LARGE.bytes) large.push(buffer)
      else if (small.length < SMALL.keptMax) small.push(buffer)
    },
    abandon(buffer) {
      if (buffer.length === LARGE.bytes) largeMade--
    },
  }
}
