import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import { limits } from '../../config/limits.ts'
import { createGrowingCache } from '../../runtime/caches/growing-cache.ts'
import type { Rate } from './limit-table.ts'

/**
 * Counters of calls in the memory of this process; storage/rate-counters.ts has those that all nodes share. rate-limiter-flexible counts,
 * by wall time only.
 */

export interface CountResult {
  /** The limit is exceeded: the call must not run. */
  readonly isExceeded: boolean
  readonly remaining: number
  /** Until the window ends. */
  readonly resetMs: number
}

export interface Counter {
  /** Counts one call of the address or identity that `key` names. */
  count(key: string): Promise<CountResult>
}

export interface Counters {
  /** Counters of different names count separately. */
  counter(name: string, rate: Rate): Counter
  close(): Promise<void>
}

export async function createMemoryCounters(): Promise<Counters> {
  const { RateLimiterMemory, RateLimiterRes } = await import('rate-limiter-flexible')
  return {
    counter(keyPrefix, { points, seconds }) {
      const limiter = new RateLimiterMemory({ keyPrefix, points, duration: seconds })
      // Addresses are cheap for an attacker with many: the key that was counted longest ago is dropped first.
      const known = createGrowingCache<true>(limits.rateLimitKeysMax, {
        dispose: (_, key) => void limiter.delete(key),
      })
      return {
        count(key) {
          if (known.get(key) === undefined) known.set(key, true)
          return consumePoint(limiter, key, RateLimiterRes)
        },
      }
    },
    async close() {},
  }
}

/** Consumes a point of a limiter of the library. */
export async function consumePoint(
  limiter: RateLimiterAbstract,
  key: string,
  // A parameter, because the library is only loaded if there are limits.
  Result: typeof RateLimiterRes,
): Promise<CountResult> {
  try {
    const { remainingPoints, msBeforeNext } = await limiter.consume(key)
    return { isExceeded: false, remaining: remainingPoints, resetMs: msBeforeNext }
  } catch (refusal) {
    if (!(refusal instanceof Result)) throw refusal
    return { isExceeded: true, remaining: 0, resetMs: refusal.msBeforeNext }
  }
}
