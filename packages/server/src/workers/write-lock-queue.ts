import type { ChildProcess } from 'node:child_process'
import { send } from './messages.ts'

/** Gives the lock for writes to the workers, in the order of their requests. */
export interface WriteLockQueue {
  request(worker: ChildProcess): void
  release(worker: ChildProcess): void
  /** The worker has ended. */
  forget(worker: ChildProcess): void
}

export function createWriteLockQueue(): WriteLockQueue {
  let holder: ChildProcess | undefined
  let waiting: readonly ChildProcess[] = []

  const grantNext = () => {
    const [next, ...others] = waiting
    holder = next
    waiting = others
    if (next !== undefined) send(next, { type: 'write-granted', isWanted: others.length > 0 })
  }
  const release = (worker: ChildProcess) => {
    if (holder === worker) grantNext()
  }
  return {
    request(worker) {
      waiting = [...waiting, worker]
      if (holder === undefined) grantNext()
      else if (waiting.length === 1) send(holder, { type: 'write-wanted' })
    },
    release,
    forget(worker) {
      waiting = waiting.filter((one) => one !== worker)
      release(worker)
    },
  }
}
