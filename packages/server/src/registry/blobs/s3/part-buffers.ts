import { createHash } from 'node:crypto'
import { limits } from '../../../config/limits.ts'

/** Bytes of an upload that are being sent to S3. */
export interface FilledPart {
  readonly bytes: Buffer<ArrayBufferLike>
  /** In hex, computed incrementally: hashing 8 MiB in one go would block the event loop. */
  readonly sha256: string
}

/**
 * Collects bytes into parts of one upload. Buffers of sent parts are reused: an upload of any size needs a few buffers,
 * and a small one hardly any.
 */
export class PartBuffers {
  readonly #spare: Buffer<ArrayBufferLike>[] = []
  #filling: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  #length = 0
  #hash = createHash('sha256')

  /** Number of buffered bytes; at most one part. */
  get length(): number {
    return this.#length
  }

  /** Adds bytes up to a full part; returns the rest. */
  add(bytes: Uint8Array): Uint8Array {
    const taken = bytes.subarray(0, limits.s3PartBytes - this.#length)
    this.#makeRoom(this.#length + taken.length)
    this.#filling.set(taken, this.#length)
    this.#length += taken.length
    this.#hash.update(taken)
    return bytes.subarray(taken.length)
  }

  /** Returns the buffered part, which the caller owns until it releases it. */
  take(): FilledPart {
    const bytes = this.#filling.subarray(0, this.#length)
    this.#filling = Buffer.alloc(0)
    this.#length = 0
    const sha256 = this.#hash.digest('hex')
    this.#hash = createHash('sha256')
    return { bytes, sha256 }
  }

  /** Makes the buffer of a part available again. */
  release({ bytes }: FilledPart): void {
    this.#spare.push(bytes)
  }

  #makeRoom(needed: number): void {
    if (needed <= this.#filling.length) return
    const spare = this.#spare.pop()
    const size = Math.min(limits.s3PartBytes, Math.max(needed, 2 * this.#filling.length))
    const larger = spare ?? Buffer.allocUnsafeSlow(size)
    larger.set(this.#filling.subarray(0, this.#length))
    this.#filling = larger
  }
}
