/** Allows events in a burst, and so many per second over time. */
export class TokenBucket {
  readonly #burst: number
  readonly #perMs: number
  #left: number
  /** When so many were left. */
  #filledMs = 0

  constructor(burst: number, perSecond: number) {
    this.#burst = burst
    this.#perMs = perSecond / 1000
    this.#left = burst
  }

  /** Counts an event; returns whether it is allowed. */
  take(): boolean {
    // The clock is read only where it matters: when a burst starts, and when it is used up.
    if (this.#left >= this.#burst) this.#filledMs = performance.now()
    if (this.#left < 1) {
      const nowMs = performance.now()
      this.#left = Math.min(this.#burst, this.#left + (nowMs - this.#filledMs) * this.#perMs)
      this.#filledMs = nowMs
      if (this.#left < 1) return false
    }
    this.#left -= 1
    return true
  }

  /** Allows the events of so many milliseconds more, beyond a burst: they happened then, and are counted together. */
  extend(ms: number): void {
    this.#left = Math.min(this.#left, this.#burst) + ms * this.#perMs
    this.#filledMs = performance.now()
  }
}
