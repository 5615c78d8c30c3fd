import type { ReadBudget } from './read-budget.ts'

/** Reads files into one buffer that is used again: executables of an image add up to gigabytes. */
export class FileCollector {
  readonly #budget: ReadBudget
  #buffer = Buffer.allocUnsafeSlow(64 * 1024)

  constructor(budget: ReadBudget) {
    this.#budget = budget
  }

  /** Reads a stream to its end. Its content is valid until the next call. `isWanted` is called with the first bytes. */
  async collect(
    stream: AsyncIterable<Uint8Array>,
    bytesMax: number,
    isWanted?: { readonly headBytes: number; test(head: Buffer): boolean },
  ): Promise<Buffer | 'too large' | 'not wanted'> {
    let length = 0
    let dropped: 'too large' | 'not wanted' | undefined
    let isTested = isWanted === undefined
    // Leaving the loop early would end the whole archive.
    for await (const chunk of stream) {
      this.#budget.check()
      if (dropped !== undefined) continue
      if (length + chunk.byteLength > bytesMax) {
        dropped = 'too large'
        continue
      }
      this.#grow(length + chunk.byteLength)
      this.#buffer.set(chunk, length)
      length += chunk.byteLength
      if (!isTested && isWanted !== undefined && length >= isWanted.headBytes) {
        isTested = true
        if (!isWanted.test(this.#buffer.subarray(0, isWanted.headBytes))) dropped = 'not wanted'
      }
    }
    return dropped ?? (isTested ? this.#buffer.subarray(0, length) : 'not wanted')
  }

  #grow(bytes: number): void {
    if (bytes <= this.#buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * this.#buffer.length))
    this.#buffer.copy(larger)
    this.#buffer = larger
  }
}
