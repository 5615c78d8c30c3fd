/** Between two looks for a moment without requests. */
const INTERVAL_MS = 1000

/**
 * Returns the memory of the start to the system (ADR 95). It waits for a moment without requests, because the event loop stops for about
 * 0.1 s. A server that is never idle uses the memory. `onIdle` is called first.
 */
export function releaseStartMemory(
  isBusy: () => boolean,
  onError: (error: unknown) => void,
  onIdle: () => void = () => undefined,
): void {
  const timer = setInterval(() => {
    if (isBusy()) return
    clearInterval(timer)
    onIdle()
    collectGarbage().catch(onError)
  }, INTERVAL_MS)
  timer.unref()
}

/** Collects all garbage. Unlike `gc`, this also shrinks the young generation, and needs no flag. */
export async function collectGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}
