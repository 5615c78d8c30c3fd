import { ApiError, Code } from '../../../api/errors.ts'
import { limits } from '../../../config/limits.ts'
import { currentContext, nodeShares, type RequestContext } from '../../../pipeline/request/request-context.ts'

/**
 * Shares of the connection pool (ADR 18). A caller takes a permit before it takes a connection, so that work which waits is a small
 * object in a queue and not a connection. One organization holds at most its share; a permit that is released goes to the share that
 * holds the fewest. Each node divides its own pool.
 *
 * Requests of callers that are not known yet have the share of one organization together. In it, each organization that they name has a
 * part, so that requests which wait for one organization leave the rest to the others.
 */

export interface Permits {
  /**
   * Takes a permit for the current request or, outside of requests, for the background jobs. Returns the share that it counts for.
   * Fails with UNAVAILABLE after `databaseWaitMsMax`, or immediately when too many wait, and with
   * the reason of the abort when the caller goes away. Jobs wait without a limit.
   */
  acquire(): Share | Promise<Share>
  /** Releases a permit of the share that `acquire` returned. */
  release(share: Share): void
  readonly waiting: number
  /** Requests that were refused because too many waited, or waited too long. */
  readonly refused: number
}

/** What permits count for: exists while some are held or waited for. */
export interface Share {
  readonly kind: 'known' | 'unknown' | 'jobs'
  /** uid of the organization or person; of a caller that is not known yet, of the organization that its request names, or ''. */
  readonly name: string
  /** Of a distributed database: the one with the rows that are read or changed. */
  readonly server: number | undefined
}

/** Numbers of permits. */
export interface PermitBounds {
  /** Of all shares together. */
  readonly total: number
  /** Of one organization, of one person without an organization, and of all callers that are not known yet. */
  readonly perShare: number
  /** Of all background jobs. */
  readonly jobs: number
  /** Of the organizations on one server of a distributed database. */
  readonly perServer: number
}

/** Returns the server of a distributed database with the rows of an organization; undefined if it is not known, or there is one server. */
export type ServerOf = (root: string) => number | undefined

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
      perServer: part(limits.databaseServerPercentMax, 2),
    },
    transactions: {
      total: part(limits.databaseTransactionsPercentMax, 1),
      perShare: part(limits.databaseOrganizationTransactionsPercentMax, 1),
      jobs: part(limits.databaseJobTransactionsPercentMax, 1),
      perServer: part(limits.databaseServerTransactionsPercentMax, 1),
    },
  }
}

interface Taken {
  /** By all shares on a server. */
  all: number
  /** By callers that are not known yet. */
  unknown: number
}

const half = (permits: number) => Math.ceil(permits / 2)

interface Waiter {
  readonly resolve: (share: Share) => void
}

/** Whose shares these are. A known caller has one on each server with rows that its requests use; others have one. */
interface Owner {
  readonly key: string
  held: number
  waiting: number
  /** When it was last served, or has started to wait: of owners that hold as many permits, the first one is next. */
  order: number
}

interface OpenShare extends Share {
  readonly key: string
  readonly owner: Owner
  /** Of a known caller. */
  readonly permitsMax: number
  held: number
  /** In the order of their requests. */
  readonly waiters: Set<Waiter>
  /** As that of its owner: of shares of one owner, the first one is next. */
  order: number
}

const ANY_ROOT = '0'.repeat(40)
const RETRY_MS = 1000
const SECOND_MS = 1000

export function createPermits(bounds: PermitBounds, serverOf: ServerOf = () => undefined): Permits {
  const shares = {
    known: new Map<string, OpenShare>(),
    unknown: new Map<string, OpenShare>(),
    jobs: new Map<string, OpenShare>(),
  }
  const knownOwners = new Map<string, Owner>()
  /** Shares with waiters. */
  const queues = new Set<OpenShare>()
  const taken: Taken = { all: 0, unknown: 0 }
  /** By server; undefined: by shares of no server, which are all of them if the database is not distributed. */
  const takenOnServer = new Map<number | undefined, Taken>()
  let waiting = 0
  let waitingUnknown = 0
  let refused = 0
  let lastOrder = 0
  /** Callers that are not known yet take turns as one share, however many organizations they name. */
  let orderOfUnknown = 0

  const shareOf = (context: RequestContext | undefined): OpenShare => {
    const kind = context === undefined ? 'jobs' : context.share === '' ? 'unknown' : 'known'
    const name = (context?.share || context?.named) ?? ''
    const rowsOf = context?.rowsOf ?? ''
    const serverOfRows = rowsOf === '' ? undefined : serverOf(rowsOf)
    const isElsewhere = serverOfRows !== undefined && serverOfRows !== serverOf(name)
    const key = isElsewhere ? `${name} ${serverOfRows}` : name
    let share = shares[kind].get(key)
    if (share === undefined) {
      const isWrite = name === nodeShares.writes
      const server = isElsewhere ? serverOfRows : serverOf(name)
      // What a node writes on a server that does not respond delays none of its other writes.
      const owner = ownerOf(kind, isWrite ? key : name)
      const permitsMax = isWrite || isElsewhere ? half(bounds.perShare) : bounds.perShare
      share = { kind, key, name, server, owner, permitsMax, held: 0, waiters: new Set(), order: 0 }
      shares[kind].set(key, share)
    }
    return share
  }

  const ownerOf = (kind: Share['kind'], key: string): Owner => {
    const known = kind === 'known' ? knownOwners.get(key) : undefined
    const owner = known ?? { key, held: 0, waiting: 0, order: 0 }
    if (kind === 'known') knownOwners.set(key, owner)
    return owner
  }

  /** Whether the database is distributed: then each root is on one of several servers. */
  const isDivided = () => serverOf(ANY_ROOT) !== undefined

  const forgetUnused = ({ kind, key, owner, held, waiters }: OpenShare) => {
    if (held === 0 && waiters.size === 0) shares[kind].delete(key)
    if (kind === 'known' && owner.held === 0 && owner.waiting === 0) knownOwners.delete(owner.key)
  }

  const takenOnSameServer = ({ server }: OpenShare): Taken => {
    let beside = takenOnServer.get(server)
    if (beside === undefined) {
      beside = { all: 0, unknown: 0 }
      takenOnServer.set(server, beside)
    }
    return beside
  }

  /**
   * A share never holds more than it leaves free, in total and of the permits of its server: several busy ones leave a permit for the next,
   * and a server that does not respond leaves permits for the others, also for other requests of the same owner.
   */
  const mayTake = (share: OpenShare): boolean => {
    const { kind, name, server, owner, permitsMax, held } = share
    const free = bounds.total - taken.all
    if (free <= 0) return false
    if (kind === 'jobs') return held < bounds.jobs
    const beside = takenOnSameServer(share)
    const freeOnServer = server === undefined ? free : bounds.perServer - beside.all
    if (kind === 'unknown') {
      if (name === '' && !isDivided()) return taken.unknown < Math.min(bounds.perShare, free)
      return held < Math.min(leftForUnknown(beside, free, server), free, freeOnServer)
    }
    return owner.held < bounds.perShare && held < Math.min(permitsMax, free, freeOnServer)
  }

  /** Callers that are not known yet hold no more than they leave free, as one share; on one of several servers, half of that share. */
  const leftForUnknown = (beside: Taken, free: number, server: number | undefined): number => {
    const left = Math.min(bounds.perShare - taken.unknown, half(free - beside.unknown))
    return server === undefined ? left : Math.min(left, half(bounds.perShare) - beside.unknown)
  }

  const count = (share: OpenShare, permits: 1 | -1) => {
    share.held += permits
    share.owner.held += permits
    for (const one of [taken, takenOnSameServer(share)]) {
      one.all += permits
      if (share.kind === 'unknown') one.unknown += permits
    }
  }

  const dequeue = (share: OpenShare, waiter: Waiter) => {
    if (!share.waiters.delete(waiter)) return
    waiting--
    share.owner.waiting--
    if (share.kind === 'unknown') waitingUnknown--
    if (share.waiters.size === 0) queues.delete(share)
  }

  const orderOf = ({ kind, owner }: OpenShare) =>
    kind === 'unknown' ? Math.max(owner.order, orderOfUnknown) : owner.order

  /** Owners that hold fewer permits are first, then those that were not served for longer, then such shares of the same owner. */
  const compareShares = (one: OpenShare, other: OpenShare) =>
    one.owner.held - other.owner.held || orderOf(one) - orderOf(other) || one.order - other.order

  /** Of the shares that wait and may take a permit. */
  const nextShare = (): OpenShare | undefined => {
    let next: OpenShare | undefined
    // Clients choose the names of callers that are not known yet, so there can be many: one look at each server is enough.
    const fullForUnknown = new Set<number | undefined>()
    for (const share of queues) {
      const { kind, name, server, held } = share
      const isNamed = kind === 'unknown' && name !== ''
      if (isNamed && fullForUnknown.has(server)) continue
      if (!mayTake(share)) {
        if (isNamed && held === 0) fullForUnknown.add(server)
        continue
      }
      const isBefore = next === undefined || compareShares(share, next) < 0
      if (isBefore) next = share
    }
    return next
  }

  const refuse = (share: OpenShare, error: ApiError): ApiError => {
    refused++
    forgetUnused(share)
    return error
  }

  /** One share of callers that are not known yet has at most as many waiters as it leaves to the others. */
  const hasTooManyWaiters = ({ kind, owner }: OpenShare): boolean => {
    const max = limits.databaseWaitingPerOrganizationMax
    return owner.waiting >= (kind === 'unknown' ? max - waitingUnknown : max)
  }

  const enqueue = (share: OpenShare, waiter: Waiter) => {
    if (share.waiters.size === 0) {
      share.order = ++lastOrder
      queues.add(share)
    }
    if (share.owner.waiting === 0) share.owner.order = share.order
    share.waiters.add(waiter)
    share.owner.waiting++
    waiting++
    if (share.kind === 'unknown') waitingUnknown++
  }

  const wait = (share: OpenShare, context: RequestContext | undefined) =>
    new Promise<Share>((resolve, reject) => {
      const isJob = context === undefined
      if (!isJob && hasTooManyWaiters(share)) return reject(refuse(share, tooManyWaiting(share)))
      if (!isJob && waiting >= limits.databaseWaitingMax)
        return reject(refuse(share, tooManyWaiting(undefined)))
      const stop = () => {
        clearTimeout(timer)
        stopListening?.()
        dequeue(share, waiter)
      }
      const waiter: Waiter = {
        resolve() {
          stop()
          count(share, 1)
          share.order = ++lastOrder
          share.owner.order = share.order
          if (share.kind === 'unknown') orderOfUnknown = lastOrder
          resolve(share)
        },
      }
      const timer = isJob
        ? undefined
        : setTimeout(() => {
            stop()
            reject(refuse(share, waitedTooLong(share)))
          }, limits.databaseWaitMsMax)
      const stopListening = context?.onAbort(() => {
        stop()
        forgetUnused(share)
        reject(context.aborted)
      })
      enqueue(share, waiter)
    })

  return {
    acquire() {
      const context = currentContext()
      context?.throwIfAborted()
      const share = shareOf(context)
      if (share.waiters.size === 0 && mayTake(share)) {
        count(share, 1)
        return share
      }
      return wait(share, context)
    },
    release(released) {
      const share = released as OpenShare
      count(share, -1)
      forgetUnused(share)
      for (let next = nextShare(); next !== undefined; next = nextShare()) {
        const [first] = next.waiters
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
  const share = acquired instanceof Promise ? await acquired : acquired
  try {
    return await work()
  } finally {
    permits.release(share)
  }
}

/**
 * `share`: undefined for all of them. Not RESOURCE_EXHAUSTED, which means a quota to the code that writes: an upload beyond its quota is
 * deleted.
 */
function tooManyWaiting(share: Share | undefined): ApiError {
  const why =
    share?.kind !== 'known'
      ? 'the database is busy: too many requests wait for it'
      : `${limits.databaseWaitingPerOrganizationMax} requests of this organization wait for the database; send fewer at a time`
  return busy('DATABASE_QUEUE_FULL', why)
}

function waitedTooLong({ kind, server }: Share): ApiError {
  const seconds = limits.databaseWaitMsMax / SECOND_MS
  const why =
    kind !== 'known'
      ? `the database is busy: the request waited ${seconds} s for a connection`
      : `other requests of this organization${server === undefined ? '' : ', or of others on its database server,'} used its share of the database connections for ${seconds} s`
  return busy('DATABASE_BUSY', why)
}

function busy(reason: string, why: string): ApiError {
  return new ApiError(Code.UNAVAILABLE, `Unavailable: ${why}; try again after 1 s`, {
    reason,
    details: [{ kind: 'RetryInfo', retryDelayMs: RETRY_MS }],
  })
}
