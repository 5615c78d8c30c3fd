import { AsyncLocalStorage } from 'node:async_hooks'

/** Runs work in no context: not in that of a request that starts a task. */
const runOutside = AsyncLocalStorage.snapshot()

/** Work that is repeated until it is stopped. */
export interface PeriodicTask {
  /** Starts no more rounds; resolves when the running one has ended. */
  stop(): Promise<void>
}

/**
 * Repeats work, never two rounds at the same time: a round that is due while one runs is skipped. It keeps no process running. `onSuccess`
 * is called after each round that succeeded. A round belongs to no request, although a request may have started the task: it goes on when
 * that is aborted.
 */
export function startPeriodicTask(
  intervalMs: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
  onSuccess: () => void = () => undefined,
): PeriodicTask {
  let running: Promise<unknown> | undefined
  const round = () => {
    running ??= work()
      .then(onSuccess, onError)
      .finally(() => {
        running = undefined
      })
  }
  const timer = runOutside(() => setInterval(round, intervalMs))
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
