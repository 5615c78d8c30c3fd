import { createHash } from 'node:crypto'
import { limits } from '../../../config/limits.ts'

/** Bytes of an upload on their way to S3. */
export interface FilledPart {
  readonly bytes: Buffer<ArrayBufferLike>
  /** In hex; made as the bytes come, since eight million at once take a while. */
  readonly sha256: string
}

/**
 * Bytes that are gathered into parts of one upload. What was sent makes room for what comes: an upload of any size needs a few buffers,
 * and a small one hardly any.
 */
export class PartBuffers {
  readonly #spare: Buffer<ArrayBufferLike>[] = []
  #filling: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  #length = 0
  #hash = createHash('sha256')

  /** Of the bytes that wait; at most a part. */
  get length(): number {
    return this.#length
  }

  /** Takes bytes up to a full part; what is left over comes next. */
  add(bytes: Uint8Array): Uint8Array {
    const taken = bytes.subarray(0, limits.s3PartBytes - this.#length)
    this.#makeRoom(this.#length + taken.length)
    this.#filling.set(taken, this.#length)
    this.#length += taken.length
    this.#hash.update(taken)
    return bytes.subarray(taken.length)
  }

  /** What waits, which is the caller's until it gives it back. */
  take(): FilledPart {
    const bytes = this.#filling.subarray(0, this.#length)
    this.#filling = Buffer.alloc(0)
    this.#length = 0
    const sha256 = this.#hash.digest('hex')
    this.#hash = createHash('sha256')
    return { bytes, sha256 }
  }

  /** A full part that nobody needs any more. */
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
