import { ApiError, Code } from '../../api/errors.ts'
import type { IncomingCall } from '../call.ts'
import { clientAddressKey } from './client-address.ts'
import { type LimitClass, type LimitTable, limitClasses, type Rate } from './limit-table.ts'
import type { Counter, Counters, CountResult } from './rate-counters.ts'

/** Rate limits: how many calls of one class an address, and an identity, may make in a window of time. */
export interface RateLimits {
  /** Counts a call for its address, before its token is verified. Rejects with code 8; undefined if there is no such limit. */
  countByAddress(limitClass: LimitClass, incoming: IncomingCall): Promise<void> | undefined
  /** Counts a call for its authenticated caller. */
  countByIdentity(limitClass: LimitClass, incoming: IncomingCall, identity: string): Promise<void> | undefined
}

export type LimitedBy = 'address' | 'identity'

export interface RateLimitOptions {
  readonly tables: Readonly<Record<LimitedBy, LimitTable>>
  readonly counters: Counters
  /** Receives each call that is rejected. */
  readonly onLimited: (limitClass: LimitClass, by: LimitedBy) => void
}

interface Limit {
  readonly by: LimitedBy
  readonly limitClass: LimitClass
  readonly rate: Rate
  readonly counter: Counter
}

export function createRateLimits({ tables, counters, onLimited }: RateLimitOptions): RateLimits {
  const limitsOf = (by: LimitedBy) => {
    const byClass: Partial<Record<LimitClass, Limit>> = {}
    for (const limitClass of limitClasses) {
      const rate = tables[by][limitClass]
      if (rate === undefined) continue
      byClass[limitClass] = { by, limitClass, rate, counter: counters.counter(`${limitClass}/${by}`, rate) }
    }
    return byClass
  }
  const byAddress = limitsOf('address')
  const byIdentity = limitsOf('identity')

  const count = async (limit: Limit, key: string, incoming: IncomingCall) => {
    const counted = await limit.counter.count(key)
    setRateLimitHeaders(incoming, limit.rate, counted)
    if (!counted.isExceeded) return
    onLimited(limit.limitClass, limit.by)
    throw rateLimited(limit, key, counted.resetMs)
  }

  return {
    countByAddress(limitClass, incoming) {
      const limit = byAddress[limitClass]
      return limit && count(limit, clientAddressKey(incoming.address), incoming)
    },
    countByIdentity(limitClass, incoming, identity) {
      const limit = byIdentity[limitClass]
      return limit && count(limit, identity, incoming)
    },
  }
}

/**
 * Sets the three fields of draft-ietf-httpapi-ratelimit-headers-06, which clients know; later drafts have others. Of two limits they
 * report the one that rejects first.
 */
function setRateLimitHeaders(
  incoming: IncomingCall,
  rate: Rate,
  { isExceeded, remaining, resetMs }: CountResult,
): void {
  const reported = incoming.replyHeaders?.['ratelimit-remaining']
  if (!isExceeded && reported !== undefined && Number(reported) <= remaining) return
  incoming.replyHeaders = {
    ...incoming.replyHeaders,
    'ratelimit-limit': String(rate.points),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(Math.ceil(resetMs / 1000)),
  }
}

function rateLimited({ by, limitClass, rate }: Limit, key: string, retryDelayMs: number): ApiError {
  const description = `one ${by} may make ${rate.points} ${limitClass} calls in ${rate.seconds} s`
  return new ApiError(Code.RESOURCE_EXHAUSTED, `Resource exhausted: ${description}`, {
    reason: 'RATE_LIMITED',
    details: [
      { kind: 'RetryInfo', retryDelayMs },
      { kind: 'QuotaFailure', violations: [{ subject: `${limitClass}/${by}:${key}`, description }] },
    ],
  })
}
