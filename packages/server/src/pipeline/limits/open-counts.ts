/** Counts what is open now, by key, up to a maximum for each key. */
export class OpenCounts<Key> {
  readonly #max: number
  readonly #counts = new Map<Key, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Counts one more of `key`. Returns false, and counts nothing, if that is more than the maximum. */
  add(key: Key): boolean {
    const count = this.#counts.get(key) ?? 0
    if (count >= this.#max) return false
    this.#counts.set(key, count + 1)
    return true
  }

  /** Reverts one `add` that returned true. */
  remove(key: Key): void {
    const count = this.#counts.get(key) ?? 0
    if (count > 1) this.#counts.set(key, count - 1)
    else this.#counts.delete(key)
  }
}
