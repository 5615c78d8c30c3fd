import type { WriteLock } from '../storage/engines/sqlite/driver.ts'

/** The lock of a worker for writes to a SQLite database, which the supervisor gives to one worker at a time (ADR 80). */
export interface SharedWriteLock extends WriteLock {
  /** The supervisor gives the lock to this worker; `isWanted`: another worker waits for it. */
  grant(isWanted: boolean): void
  /** Another worker waits for the lock. */
  want(): void
}

/** A worker keeps the lock until another one asks for it, so a worker that writes alone sends no messages. */
export function createWriteLock(
  report: (type: 'write-requested' | 'write-released') => void,
): SharedWriteLock {
  let isHeld = false
  let isTaken = false
  let isWanted = false
  let waiting: PromiseWithResolvers<void> | undefined

  const releaseIfWanted = () => {
    if (!isHeld || isTaken || !isWanted) return
    isHeld = false
    isWanted = false
    report('write-released')
  }
  const wait = async () => {
    while (!isHeld) {
      if (waiting === undefined) {
        waiting = Promise.withResolvers()
        report('write-requested')
      }
      await waiting.promise
    }
  }
  return {
    get isHeld() {
      return isHeld
    },
    wait,
    async take() {
      await wait()
      isTaken = true
    },
    finish() {
      isTaken = false
      releaseIfWanted()
    },
    grant(wanted) {
      isHeld = true
      isWanted = wanted
      waiting?.resolve()
      waiting = undefined
      // The change that waited takes the lock before this.
      setImmediate(releaseIfWanted)
    },
    want() {
      isWanted = true
      releaseIfWanted()
    },
  }
}
