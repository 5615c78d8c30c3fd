/** Work that comes round again, until it is stopped. */
export interface Rounds {
  /** Begins no more rounds; fulfils once the one that runs has ended. */
  stop(): Promise<void>
}

/**
 * Repeats work, never two rounds at the same time: a round that is due while one runs is left out. It keeps no process alive. `onDone`
 * follows each round that did not fail.
 */
export function every(
  intervalMs: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
  onDone: () => void = () => undefined,
): Rounds {
  let running: Promise<unknown> | undefined
  const timer = setInterval(() => {
    running ??= work()
      .then(onDone, onError)
      .finally(() => {
        running = undefined
      })
  }, intervalMs)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
