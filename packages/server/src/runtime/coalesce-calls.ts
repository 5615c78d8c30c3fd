import { setImmediate } from 'node:timers/promises'

/**
 * Runs work, one run at a time: calls that arrive during a run share the next one, so that no result is older than its call. Other
 * requests run in between.
 */
export function coalesceCalls<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> | undefined
  let next: Promise<T> | undefined
  const run = async (before: Promise<unknown> | undefined) => {
    await before?.catch(() => undefined)
    await setImmediate()
    running = next
    next = undefined
    return work()
  }
  return () => {
    if (next !== undefined) return next
    const own = run(running)
    next = own
    const over = () => {
      if (running === own) running = undefined
    }
    own.then(over, over)
    return own
  }
}
