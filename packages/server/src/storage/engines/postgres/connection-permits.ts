import { ApiError, Code } from '../../../api/errors.ts'
import { limits } from '../../../config/limits.ts'
import { currentContext, type RequestContext } from '../../../pipeline/request/request-context.ts'

/**
 * Shares of the connection pool (ADR 18). A caller takes a permit before it takes a connection, so that work which waits is a small
 * object in a queue and not a connection. One organization holds at most its share; a permit that is released goes to the share that
 * holds the fewest. Each node divides its own pool.
 */

export interface Permits {
  /**
   * Takes a permit for the current request or, outside of requests, for the background jobs. Returns the share that it counts for.
   * Fails with UNAVAILABLE after `databaseWaitMsMax`, or immediately when too many wait, and with
   * the reason of the abort when the caller goes away. Jobs wait without a limit.
   */
  acquire(): string | Promise<string>
  /** Releases a permit of the share that `take` returned. */
  release(share: string): void
  readonly waiting: number
  /** Requests that were refused because too many waited, or waited too long. */
  readonly refused: number
}

/** Numbers of permits. */
export interface PermitBounds {
  /** Of all shares together. */
  readonly total: number
  /** Of one organization, of one person without an organization, and of all callers that are not known yet. */
  readonly perShare: number
  /** Of all background jobs. */
  readonly jobs: number
}

/** How a pool is divided: permits for its connections, and for those that a transaction uses. */
export interface PoolShares {
  readonly connections: PermitBounds
  readonly transactions: PermitBounds
}

const ONE_HUNDRED = 100

/**
 * Divides a pool of `size` connections, at least two. Each share has fewer permits for transactions than for connections, so that its reads
 * continue while its changes wait for locks. In a pool below five, two or three such organizations may leave none. A transaction must not
 * wait for a read on another connection.
 */
export function dividePool(size: number): PoolShares {
  const part = (percent: number, least: number) => Math.max(least, Math.floor((size * percent) / ONE_HUNDRED))
  return {
    connections: {
      total: size,
      perShare: part(limits.databaseOrganizationPercentMax, 2),
      jobs: part(limits.databaseJobsPercentMax, 2),
    },
    transactions: {
      total: part(limits.databaseTransactionsPercentMax, 1),
      perShare: part(limits.databaseOrganizationTransactionsPercentMax, 1),
      jobs: part(limits.databaseJobTransactionsPercentMax, 1),
    },
  }
}

/** The share of the background jobs, which is no uid. */
const JOBS = 'jobs'

interface Waiter {
  readonly resolve: (share: string) => void
}

const RETRY_MS = 1000
const SECOND_MS = 1000

export function createPermits(bounds: PermitBounds): Permits {
  const held = new Map<string, number>()
  /** Waiters of each share, in the order of their requests. */
  const queues = new Map<string, Set<Waiter>>()
  let taken = 0
  let waiting = 0
  let refused = 0

  const heldBy = (share: string) => held.get(share) ?? 0

  /** One share never holds more than it leaves free: several busy shares leave a permit for the next. */
  const mayTake = (share: string): boolean => {
    const free = bounds.total - taken
    if (free <= 0) return false
    return heldBy(share) < (share === JOBS ? bounds.jobs : Math.min(bounds.perShare, free))
  }

  const hold = (share: string) => {
    taken++
    held.set(share, heldBy(share) + 1)
  }

  const dequeue = (share: string, waiter: Waiter) => {
    const queue = queues.get(share)
    if (queue?.delete(waiter) !== true) return
    waiting--
    if (queue.size === 0) queues.delete(share)
  }

  /** The share that holds the fewest of those that wait and may take a permit. */
  const nextShare = (): string | undefined => {
    let next: string | undefined
    for (const share of queues.keys())
      if (mayTake(share) && (next === undefined || heldBy(share) < heldBy(next))) next = share
    return next
  }

  const refuse = (error: ApiError): ApiError => {
    refused++
    return error
  }

  const wait = (share: string, context: RequestContext | undefined) =>
    new Promise<string>((resolve, reject) => {
      const isJob = context === undefined
      const queue = queues.get(share) ?? new Set()
      if (!isJob && queue.size >= limits.databaseWaitingPerOrganizationMax)
        return reject(refuse(tooManyWaiting(share)))
      if (!isJob && waiting >= limits.databaseWaitingMax) return reject(refuse(tooManyWaiting('')))
      const stop = () => {
        clearTimeout(timer)
        stopListening?.()
        dequeue(share, waiter)
      }
      const waiter: Waiter = {
        resolve() {
          stop()
          hold(share)
          resolve(share)
        },
      }
      const timer = isJob
        ? undefined
        : setTimeout(() => {
            stop()
            reject(refuse(waitedTooLong(share)))
          }, limits.databaseWaitMsMax)
      const stopListening = context?.onAbort(() => {
        stop()
        reject(context.aborted)
      })
      queues.set(share, queue.add(waiter))
      waiting++
    })

  return {
    acquire() {
      const context = currentContext()
      context?.throwIfAborted()
      const share = context?.share ?? JOBS
      if (!queues.has(share) && mayTake(share)) {
        hold(share)
        return share
      }
      return wait(share, context)
    },
    release(share) {
      taken--
      const left = heldBy(share) - 1
      if (left === 0) held.delete(share)
      else held.set(share, left)
      for (let next = nextShare(); next !== undefined; next = nextShare()) {
        const [first] = queues.get(next) ?? []
        first?.resolve(next)
      }
    },
    get waiting() {
      return waiting
    },
    get refused() {
      return refused
    },
  }
}

/** Runs `work` with a permit. */
export async function withPermit<T>(permits: Permits, work: () => Promise<T>): Promise<T> {
  const acquired = permits.acquire()
  const share = typeof acquired === 'string' ? acquired : await acquired
  try {
    return await work()
  } finally {
    permits.release(share)
  }
}

/**
 * `share`: '' for all of them, or for the callers that are not known yet. Not RESOURCE_EXHAUSTED, which means a quota to the code that
 * writes: an upload beyond its quota is deleted.
 */
function tooManyWaiting(share: string): ApiError {
  const why =
    share === ''
      ? 'the database is busy: too many requests wait for it'
      : `${limits.databaseWaitingPerOrganizationMax} requests of this organization wait for the database; send fewer at a time`
  return busy('DATABASE_QUEUE_FULL', why)
}

function waitedTooLong(share: string): ApiError {
  const seconds = limits.databaseWaitMsMax / SECOND_MS
  const why =
    share === ''
      ? `the database is busy: the request waited ${seconds} s for a connection`
      : `other requests of this organization used its share of the database connections for ${seconds} s`
  return busy('DATABASE_BUSY', why)
}

function busy(reason: string, why: string): ApiError {
  return new ApiError(Code.UNAVAILABLE, `Unavailable: ${why}; try again after 1 s`, {
    reason,
    details: [{ kind: 'RetryInfo', retryDelayMs: RETRY_MS }],
  })
}
