/** Long work on the event loop lets others have their turn. */

/** Milliseconds that work continues before it yields. */
const TIME_SLICE_MS = 10

let sliceStartMs = 0

/** Yields to the event loop in long work; resolves immediately if the last yield was less than that time ago. */
export async function yieldToEventLoop(): Promise<void> {
  const now = performance.now()
  if (now - sliceStartMs < TIME_SLICE_MS) return
  await new Promise((resolve) => setImmediate(resolve))
  sliceStartMs = performance.now()
}
