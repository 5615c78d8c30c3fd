/** Long work on the event loop lets others have their turn. */

/** Work goes on for so long before somebody else may. */
const TIME_SLICE_MS = 10

let sliceStartMs = 0

/** Called again and again in the middle of long work; fulfils after what waits was heard, or at once where nobody has waited long. */
export async function yieldToEventLoop(): Promise<void> {
  const now = performance.now()
  if (now - sliceStartMs < TIME_SLICE_MS) return
  await new Promise((resolve) => setImmediate(resolve))
  sliceStartMs = performance.now()
}
