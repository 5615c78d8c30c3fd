import { TransferError } from './transfer-error.ts'

/** How much of what one image names is kept in memory: whoever made it may have made it endless. */

const MANIFESTS_MAX = 10_000
const BYTES_MAX = 64 * 1024 * 1024

/** Indexes in indexes, and what refers to what refers to an image. */
export const DEPTH_MAX = 8

export class ReadBudget {
  readonly #place: string
  #manifests = 0
  #bytes = 0

  constructor(place: string) {
    this.#place = place
  }

  /** Throws when there were too many manifests, or too many bytes. */
  consume(manifests: number, bytes: number): void {
    this.#manifests += manifests
    this.#bytes += bytes
    if (this.#manifests > MANIFESTS_MAX) this.#refuse(`has more than ${MANIFESTS_MAX} manifests`)
    if (this.#bytes > BYTES_MAX) this.#refuse(`is described in more than ${BYTES_MAX} bytes`)
  }

  /** Throws for what lies too deep in indexes. */
  checkDepth(depth: number): void {
    if (depth > DEPTH_MAX) this.#refuse('has indexes in indexes in indexes, too deep')
  }

  #refuse(why: string): never {
    throw new TransferError('refused', this.#place, `the image at ${this.#place} ${why}`)
  }
}
