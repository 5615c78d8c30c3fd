/** Work with a concurrency limit. The first failure cancels the rest. */
export class TaskGroup {
  readonly #most: number
  readonly #running = new Set<Promise<void>>()
  readonly #calledOff = new AbortController()
  #failure: { readonly error: unknown } | undefined

  constructor(most: number) {
    this.#most = most
  }

  /** Resolves when the work has started. Rejects with the failure of earlier work. */
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

  /** Resolves when all work is done. */
  async wait(): Promise<void> {
    await Promise.all(this.#running)
    this.#requireNoFailure()
  }

  /** Resolves when no work runs any more. */
  async cancel(): Promise<void> {
    this.#calledOff.abort()
    await Promise.all(this.#running)
  }

  #requireNoFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }
}
