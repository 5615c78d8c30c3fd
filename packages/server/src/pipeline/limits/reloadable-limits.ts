import type { Counters } from './rate-counters.ts'
import { createRateLimits, type RateLimitOptions, type RateLimits } from './rate-limits.ts'

/** Rate limits that can change while the server runs. */
export interface ReloadableLimits extends RateLimits {
  /** Replaces the limits. A limit that stays the same keeps its counts. */
  apply(tables: RateLimitOptions['tables']): Promise<void>
  close(): Promise<void>
}

/** `open`: opens the counters, with the first limit. */
export function createReloadableLimits(
  open: () => Promise<Counters>,
  onLimited: RateLimitOptions['onLimited'],
): ReloadableLimits {
  let counters: Counters | undefined
  let current: RateLimits | undefined
  return {
    countByAddress: (limitClass, incoming) => current?.countByAddress(limitClass, incoming),
    countByIdentity: (limitClass, incoming, identity) =>
      current?.countByIdentity(limitClass, incoming, identity),
    async apply(tables) {
      if (Object.values(tables).every((table) => Object.keys(table).length === 0)) {
        current = undefined
        return
      }
      counters ??= reuseCounters(await open())
      current = createRateLimits({ tables, counters, onLimited })
    },
    async close() {
      await counters?.close()
    },
  }
}

/** Gives the same counter for the same name and rate. */
function reuseCounters(counters: Counters): Counters {
  const known = new Map<string, ReturnType<Counters['counter']>>()
  return {
    counter(name, rate) {
      const key = `${name} ${rate.points} ${rate.seconds}`
      const counter = known.get(key) ?? counters.counter(name, rate)
      known.set(key, counter)
      return counter
    },
    close: () => counters.close(),
  }
}
