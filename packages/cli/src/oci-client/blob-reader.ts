import { createDigestHash, type Descriptor } from './descriptors.ts'
import type { ImageStore } from './image-store.ts'
import { RetryBackoff, TransientError } from './retries.ts'
import { TransferError } from './transfer-error.ts'

/**
 * Reads one blob and hashes it. Reconnects at the current offset after a broken connection. The consumer can read some bytes again after
 * its own connection broke.
 */
export class BlobReader {
  readonly blob: Descriptor
  readonly #source: ImageStore
  readonly #signal: AbortSignal
  readonly #onBytes: (count: number) => void
  #hash: ReturnType<typeof createDigestHash>
  /** Number of bytes that were hashed. */
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

  /** Ends when all bytes were read and match the digest; throws otherwise. */
  async *readFrom(start: number): AsyncGenerator<Buffer> {
    const { size } = this.blob
    if (start > this.#hashed) throw new Error(`offset ${start} is beyond the bytes that were read`)
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
      `${name} returned ${what} for ${this.blob.digest}: the blob is damaged there and was not copied`,
    )
  }
}
