/** Work that is done a few pieces at a time. The first failure calls the rest off. */
export class TaskGroup {
  readonly #most: number
  readonly #running = new Set<Promise<void>>()
  readonly #calledOff = new AbortController()
  #failure: { readonly error: unknown } | undefined

  constructor(most: number) {
    this.#most = most
  }

  /** Fulfils when the piece was begun. Rejects with what made an earlier one fail. */
  async start(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#most) await Promise.race(this.#running)
    this.#requireNoFailure()
    const piece = work(this.#calledOff.signal)
      .catch((error: unknown) => {
        this.#failure ??= { error }
        this.#calledOff.abort()
      })
      .finally(() => this.#running.delete(piece))
    this.#running.add(piece)
  }

  /** Fulfils when all is done. */
  async wait(): Promise<void> {
    await Promise.all(this.#running)
    this.#requireNoFailure()
  }

  /** Fulfils when nothing of it runs any more. */
  async cancel(): Promise<void> {
    this.#calledOff.abort()
    await Promise.all(this.#running)
  }

  #requireNoFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }
}
