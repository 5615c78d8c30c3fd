import { withTimeout } from '../runtime/timeout.ts'

/** How long a reading may take, and how long its last result stands in for it, milliseconds. */
interface CachedReadBounds {
  readonly readMsMax: number
  readonly cacheMsMax: number
}

/**
 * Makes a reading of the database safe for /metrics: the function that it returns never rejects and takes at most `readMsMax`. While the
 * reading fails or takes longer, it answers with the last result, for `keptMsMax`, and then with undefined. A reading that hangs
 * is not started again before it ends. `onFailure` is called for each result that is not new.
 */
export function cachedRead<T>(
  read: () => Promise<T>,
  onFailure: () => void,
  { readMsMax, cacheMsMax: keptMsMax }: CachedReadBounds,
  clock: () => number = () => performance.now(),
): () => Promise<T | undefined> {
  let last: { readonly value: T; readonly ms: number } | undefined
  let running: Promise<T> | undefined
  const startRead = () => {
    const startMs = clock()
    const own = read()
    running = own
    const over = () => {
      if (running === own) running = undefined
    }
    own.then((value) => {
      last = { value, ms: startMs }
      over()
    }, over)
    return own
  }
  return async () => {
    try {
      return await withTimeout(readMsMax, running ?? startRead())
    } catch {
      onFailure()
      return last !== undefined && clock() - last.ms <= keptMsMax ? last.value : undefined
    }
  }
}
