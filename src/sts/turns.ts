/** A bounded number of holders, the others waiting in the order they came. */
export interface Turns {
  /**
   * Resolves to the function that gives the turn back, to be called once; rejects when `signal` aborts before
   * that.
   */
  take(signal: AbortSignal): Promise<() => void>
}

/** Turns for at most `max` holders at a time. */
export function createTurns(max: number): Turns {
  const waiting = new Set<() => void>()
  let taken = 0

  function release(): void {
    const [next] = waiting
    if (next === undefined) taken--
    else next()
  }

  return {
    async take(signal: AbortSignal): Promise<() => void> {
      signal.throwIfAborted()
      if (taken < max) {
        taken++
        return release
      }
      await new Promise<void>((resolve, reject) => {
        function proceed(): void {
          waiting.delete(proceed)
          signal.removeEventListener('abort', giveUp)
          resolve()
        }
        function giveUp(): void {
          waiting.delete(proceed)
          reject(signal.reason)
        }
        waiting.add(proceed)
        signal.addEventListener('abort', giveUp, { once: true })
      })
      return release
    },
  }
}
