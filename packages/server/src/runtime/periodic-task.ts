/** Work that comes round again, until it is stopped. */
export interface PeriodicTask {
  /** Begins no more rounds; fulfils once the one that runs has ended. */
  stop(): Promise<void>
}

/**
 * Repeats work, never two rounds at the same time: a round that is due while one runs is left out. It keeps no process alive. `onDone`
 * follows each round that did not fail.
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
