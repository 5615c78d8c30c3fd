import { channel } from 'node:diagnostics_channel'

/** Between two looks for a moment without requests. */
const INTERVAL_MS = 1000

/**
 * Reports `ready`, and `idle` before garbage is collected, when V8 drops the code of functions that ran once: the package stores it for the next
 * start (ADR 118).
 */
const startChannel = channel('berth.start')

/**
 * Returns the memory of the start to the system (ADR 95). It waits for a moment without requests, because the event loop stops for about
 * 0.1 s. A server that is never idle uses the memory.
 */
export function releaseStartMemory(isBusy: () => boolean, onError: (error: unknown) => void): void {
  startChannel.publish('ready')
  const timer = setInterval(() => {
    if (isBusy()) return
    clearInterval(timer)
    startChannel.publish('idle')
    collectGarbage().catch(onError)
  }, INTERVAL_MS)
  timer.unref()
}

/** Collects all garbage. Unlike `gc`, this also shrinks the young generation, and needs no flag. */
async function collectGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}
