import { withTimeout } from '../runtime/timeout.ts'

/** How long a read may take, and how long its last result replaces it, in milliseconds. */
interface CachedReadBounds {
  readonly readMsMax: number
  readonly cacheMsMax: number
}

/**
 * Makes a read of the database safe for /metrics: the function that it returns never rejects and takes at most `readMsMax`. If the
 * read fails or takes longer, it returns the last result, for `keptMsMax`, and then undefined. A read that hangs
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
