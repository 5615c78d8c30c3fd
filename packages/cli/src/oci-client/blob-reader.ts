import { createDigestHash, type Descriptor } from './descriptors.ts'
import type { ImageStore } from './image-store.ts'
import { RetryBackoff, TransientError } from './retries.ts'
import { TransferError } from './transfer-error.ts'

/**
 * Bytes of one blob, hashed as they pass. A connection that breaks is made again where it broke; whoever takes the bytes may ask for
 * some of them once more, when theirs broke.
 */
export class BlobReader {
  readonly blob: Descriptor
  readonly #source: ImageStore
  readonly #signal: AbortSignal
  readonly #onBytes: (count: number) => void
  #hash: ReturnType<typeof createDigestHash>
  /** Bytes that were hashed. */
  #hashed = 0

  constructor(
    source: ImageStore,
    blob: Descriptor,
    { signal, onBytes = () => undefined }: { signal: AbortSignal; onBytes?: (count: number) => void },
  ) {
    this.blob = blob
    this.#source = source
    this.#signal = signal
    this.#onBytes = onBytes
    this.#hash = createDigestHash(blob.digest)
  }

  /** Ends when all bytes were there and are those of the digest; throws instead otherwise. */
  async *readFrom(start: number): AsyncGenerator<Buffer> {
    const { size } = this.blob
    if (start > this.#hashed) throw new Error(`${start} bytes were never read`)
    const patience = new RetryBackoff()
    let at = start
    while (at < size) {
      try {
        for await (const bytes of await this.#source.openBlob(this.blob, at)) {
          this.#signal.throwIfAborted()
          if (at + bytes.length > size) throw this.#corrupt(`more than ${size} bytes`)
          this.#pass(at, bytes)
          at += bytes.length
          patience.reset()
          yield bytes
        }
        if (at < size) throw new TransientError(this.#corrupt(`${at} of ${size} bytes`))
      } catch (error) {
        await patience.waitForRetry(error, this.#signal)
      }
    }
    const { digest } = this.blob
    const actual = `${digest.split(':', 1)[0]}:${this.#hash.copy().digest('hex')}`
    if (actual !== digest) throw this.#corrupt(`bytes with the digest ${actual}`)
  }

  #pass(at: number, bytes: Buffer): void {
    const fresh = bytes.subarray(Math.max(0, Math.min(bytes.length, this.#hashed - at)))
    if (fresh.length === 0) return
    this.#hash.update(fresh)
    this.#hashed += fresh.length
    this.#onBytes(fresh.length)
  }

  #corrupt(what: string): TransferError {
    const { name } = this.#source
    return new TransferError(
      'corrupt',
      name,
      `${name} gives ${what} for ${this.blob.digest}: the blob is damaged there, and was not taken`,
    )
  }
}
