import { TransferError } from './transfer-error.ts'

/** Limits how much is read of one image: a malicious image could be endless. */

const MANIFESTS_MAX = 10_000
const BYTES_MAX = 64 * 1024 * 1024

/** Depth of nested indexes, and of referrers of referrers. */
export const DEPTH_MAX = 8

export class ReadBudget {
  readonly #place: string
  #manifests = 0
  #bytes = 0

  constructor(place: string) {
    this.#place = place
  }

  /** Throws if there are too many manifests or bytes. */
  consume(manifests: number, bytes: number): void {
    this.#manifests += manifests
    this.#bytes += bytes
    if (this.#manifests > MANIFESTS_MAX) this.#refuse(`has more than ${MANIFESTS_MAX} manifests`)
    if (this.#bytes > BYTES_MAX) this.#refuse(`has more than ${BYTES_MAX} bytes of manifests`)
  }

  /** Throws if indexes are nested too deeply. */
  checkDepth(depth: number): void {
    if (depth > DEPTH_MAX) this.#refuse(`has indexes nested more than ${DEPTH_MAX} levels deep`)
  }

  #refuse(why: string): never {
    throw new TransferError('refused', this.#place, `the image at ${this.#place} ${why}`)
  }
}
