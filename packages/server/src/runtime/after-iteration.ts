import { AsyncLocalStorage } from 'node:async_hooks'

let waiting: (() => void)[] = []

/** In no context: the work of one request must not run as a part of another. */
const runWaiting = AsyncLocalStorage.bind(() => {
  const all = waiting
  waiting = []
  for (const work of all) work()
})

/** Runs work in no context when this iteration of the event loop has ended. */
export function afterIteration(work: () => void): void {
  if (waiting.push(work) === 1) setImmediate(runWaiting)
}
