/** Work that comes round again, until it is stopped. */
export interface Rounds {
  /** Begins no more rounds; fulfils once the one that runs has ended. */
  stop(): Promise<void>
}

/** Does work again and again, never twice at once: a round that is due while one runs is left out. It keeps no process alive. */
export function every(
  intervalMs: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
): Rounds {
  let running: Promise<unknown> | undefined
  const timer = setInterval(() => {
    running ??= work()
      .catch(onError)
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
