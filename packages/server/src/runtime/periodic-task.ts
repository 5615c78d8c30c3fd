/** Work that is repeated until it is stopped. */
export interface PeriodicTask {
  /** Starts no more rounds; resolves when the running one has ended. */
  stop(): Promise<void>
}

/**
 * Repeats work, never two rounds at the same time: a round that is due while one runs is skipped. It keeps no process running. `onDone`
 * is called after each round that succeeded.
 */
export function startPeriodicTask(
  intervalMs: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
  onSuccess: () => void = () => undefined,
): PeriodicTask {
  let running: Promise<unknown> | undefined
  const timer = setInterval(() => {
    running ??= work()
      .then(onSuccess, onError)
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
