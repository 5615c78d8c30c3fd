/** A bounded number of holders. The others wait, in the order in which they came and by how much of their share they hold. */
export interface FairSemaphore {
  /**
   * Resolves to the function that gives the turn back, to be called once; rejects when `signal` aborts before
   * that. `share`: whose share the turn counts for; undefined: only the bound of all applies.
   */
  acquire(signal: AbortSignal, share?: string): Promise<() => void>
}

interface Waiter {
  readonly share: string | undefined
  readonly proceed: () => void
}

/**
 * Turns for at most `max` holders at a time, of which one share holds at most `perShareMax`, and never more than it leaves free, so
 * that several greedy shares cannot take everything either. A free turn goes to the share that holds the fewest.
 */
export function createFairSemaphore(max: number, perShareMax = max): FairSemaphore {
  const waiting = new Set<Waiter>()
  const held = new Map<string, number>()
  let acquired = 0

  const heldBy = (share: string | undefined) => (share === undefined ? 0 : (held.get(share) ?? 0))

  function mayTake(share: string | undefined): boolean {
    return acquired < max && (share === undefined || heldBy(share) < Math.min(perShareMax, max - acquired))
  }

  function hold(share: string | undefined): void {
    acquired++
    if (share !== undefined) held.set(share, heldBy(share) + 1)
  }

  function release(share: string | undefined): void {
    acquired--
    if (share !== undefined) {
      const left = heldBy(share) - 1
      if (left === 0) held.delete(share)
      else held.set(share, left)
    }
    for (let next = nextWaiter(); next !== undefined; next = nextWaiter()) {
      hold(next.share)
      next.proceed()
    }
  }

  function nextWaiter(): Waiter | undefined {
    let next: Waiter | undefined
    for (const waiter of waiting)
      if (mayTake(waiter.share) && (next === undefined || heldBy(waiter.share) < heldBy(next.share)))
        next = waiter
    return next
  }

  return {
    async acquire(signal, share) {
      signal.throwIfAborted()
      if (mayTake(share)) {
        hold(share)
        return () => release(share)
      }
      await new Promise<void>((resolve, reject) => {
        const waiter = { share, proceed }
        function proceed(): void {
          waiting.delete(waiter)
          signal.removeEventListener('abort', giveUp)
          resolve()
        }
        function giveUp(): void {
          waiting.delete(waiter)
          reject(signal.reason)
        }
        waiting.add(waiter)
        signal.addEventListener('abort', giveUp, { once: true })
      })
      return () => release(share)
    },
  }
}
