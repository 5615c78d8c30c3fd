import { mcp } from '@berth/contract/gen/annotations/mcp_pb.js'
import { SecurityTokenService } from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { PingService } from '@berth/contract/gen/chainguard/platform/ping/v2beta1/ping_pb.js'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { type DescMethod, getOption } from '@bufbuild/protobuf'
import { ApiError, Code } from '../../api/errors.ts'
import type { IncomingCall } from '../call.ts'
import { clientAddressKey } from './client-address.ts'
import { type LimitClass, type LimitTable, limitClasses, type Rate } from './limit-table.ts'
import type { Counter, Counters, CountResult } from './rate-counters.ts'

/**
 * Rate limits: how many calls of one class an address, and an identity, may make in a window of time. The waist asks before it
 * looks at a token, and again when it knows the caller.
 */
export interface RateLimits {
  /** Counts the call for its address. Rejects with code 8; undefined when nothing is to be counted. */
  countByAddress(method: DescMethod, incoming: IncomingCall): Promise<void> | undefined
  /** Counts the call for an identity that has proven itself. */
  countByIdentity(method: DescMethod, incoming: IncomingCall, identity: string): Promise<void> | undefined
}

export type LimitedBy = 'address' | 'identity'

export interface RateLimitOptions {
  readonly tables: Readonly<Record<LimitedBy, LimitTable>>
  readonly counters: Counters
  /** Told of each call that is refused. */
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
    countByAddress(method, incoming) {
      const limit = limitFor(byAddress, method)
      return limit && count(limit, clientAddressKey(incoming.address), incoming)
    },
    countByIdentity(method, incoming, identity) {
      const limit = limitFor(byIdentity, method)
      return limit && count(limit, identity, incoming)
    },
  }
}

function limitFor(byClass: Partial<Record<LimitClass, Limit>>, method: DescMethod): Limit | undefined {
  const limitClass = limitClassOf(method)
  return limitClass === undefined ? undefined : byClass[limitClass]
}

const classes = new Map<DescMethod, LimitClass | undefined>()

/** Undefined for what is never limited: monitors call it. */
function limitClassOf(method: DescMethod): LimitClass | undefined {
  let limitClass = classes.get(method)
  if (limitClass === undefined && !classes.has(method)) {
    if (method.parent.typeName === SecurityTokenService.typeName) limitClass = 'exchange'
    else if (method.parent.typeName !== PingService.typeName)
      limitClass = isReadMethod(method) ? 'read' : 'write'
    classes.set(method, limitClass)
  }
  return limitClass
}

function isReadMethod(method: DescMethod): boolean {
  return getOption(method, mcp).readOnly || getOption(method, http).pattern.case === 'get'
}

/**
 * The three fields of draft-ietf-httpapi-ratelimit-headers-06, which clients know; later drafts have others. Of two limits the one
 * that will refuse first is told.
 */
function setRateLimitHeaders(
  incoming: IncomingCall,
  rate: Rate,
  { isExceeded: refused, remaining, resetMs }: CountResult,
): void {
  const reported = incoming.replyHeaders?.['ratelimit-remaining']
  if (!refused && reported !== undefined && Number(reported) <= remaining) return
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
