/** Allows events in a burst, and so many per second over time. */
export class TokenBucket {
  readonly #burst: number
  readonly #perMs: number
  readonly #standstillMs: () => number
  readonly #clock: () => number
  #left: number
  /** When so many were left. */
  #filledMs: number

  /** `standstillMs` returns how long this process stood still a moment ago: events of that time are read together. */
  constructor(
    burst: number,
    perSecond: number,
    standstillMs: () => number,
    clock: () => number = () => performance.now(),
  ) {
    this.#burst = burst
    this.#perMs = perSecond / 1000
    this.#standstillMs = standstillMs
    this.#clock = clock
    this.#left = burst
    this.#filledMs = clock()
  }

  /** Counts an event; returns whether it is allowed. */
  take(): boolean {
    // The clock is read only where it matters: when a burst starts, and when it is used up.
    if (this.#left >= this.#burst || this.#left < 1) this.#refill()
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }

  /** Allows the events of the time since the last call, at most a burst and, right after a standstill, the events of its time. */
  #refill(): void {
    const nowMs = this.#clock()
    const leftMax = this.#burst + this.#standstillMs() * this.#perMs
    this.#left = Math.min(leftMax, this.#left + (nowMs - this.#filledMs) * this.#perMs)
    this.#filledMs = nowMs
  }
}
