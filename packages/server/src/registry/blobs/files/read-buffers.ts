/**
 * Memory that files are read into, used again and again: fresh memory costs more than the reading. A few reads at once get much, since
 * large pieces are cheap to send; many get little, so that all of them together stay small.
 */
export interface ReadBuffers {
  /** A buffer for a read of `bytes` in all. */
  acquire(bytes: number): Buffer
  /** Nobody looks at it any more. */
  release(buffer: Buffer): void
  /** It may still be on its way to somebody, so nothing may be read into it any more. */
  abandon(buffer: Buffer): void
}

const KIB = 1024
/** As large as a buffer may be, for how many reads at once, and how many are kept for later. */
const LARGE = { bytes: 1024 * KIB, atOnceMax: 16 }
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
