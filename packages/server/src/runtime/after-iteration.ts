import { AsyncLocalStorage } from 'node:async_hooks'

let waiting: (() => void)[] = []

/** In no context: the work of one request must not run as a part of another. */
const runWaiting = AsyncLocalStorage.bind(() => {
  const all = waiting
  waiting = []
  let done = 0
  try {
    for (const work of all) {
      done++
      work()
    }
  } finally {
    // One that fails does not stop the others.
    for (const work of all.slice(done)) afterIteration(work)
  }
})

/** Runs work in no context when this iteration of the event loop has ended. */
export function afterIteration(work: () => void): void {
  if (waiting.push(work) === 1) setImmediate(runWaiting)
}
