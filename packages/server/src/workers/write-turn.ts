import type { WriteTurn } from '../storage/engines/sqlite/driver.ts'

/** A worker's part in taking turns to write to a SQLite database (ADR 80). */
export interface SharedWriteTurn extends WriteTurn {
  /** The supervisor gives this worker the turn; `isWanted`: another worker waits for it. */
  grant(isWanted: boolean): void
  /** Another worker waits for the turn. */
  want(): void
}

/** A worker keeps the turn until another one asks for it, so a worker that writes alone sends no messages. */
export function createWriteTurn(tell: (type: 'write-requested' | 'write-released') => void): SharedWriteTurn {
  let isHeld = false
  let isTaken = false
  let isWanted = false
  let waiting: PromiseWithResolvers<void> | undefined

  const releaseIfWanted = () => {
    if (!isHeld || isTaken || !isWanted) return
    isHeld = false
    isWanted = false
    tell('write-released')
  }
  const wait = async () => {
    while (!isHeld) {
      if (waiting === undefined) {
        waiting = Promise.withResolvers()
        tell('write-requested')
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
      // The change that waited takes the turn before this.
      setImmediate(releaseIfWanted)
    },
    want() {
      isWanted = true
      releaseIfWanted()
    },
  }
}
