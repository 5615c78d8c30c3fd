import type { limits as productLimits } from '../config/limits.ts'
import { clientAddressKey, createTrustedProxyTest } from '../pipeline/limits/client-address.ts'
import { OpenCounts } from '../pipeline/limits/open-counts.ts'
import { createGrowingCache } from '../runtime/caches/growing-cache.ts'

export type ConnectionLimits = Readonly<
  Record<
    keyof typeof productLimits &
      (
        | 'connectionsMax'
        | 'connectionsPerAddressMax'
        | 'undecidedConnectionsMax'
        | 'abusiveConnectionsPerAddressMax'
        | 'abuseWindowMs'
      ),
    number
  >
>

/** A connection, as admission sees it. */
interface Connection {
  readonly remoteAddress?: string | undefined
  destroy(): unknown
}

/** Returns the key that connections of an address are counted by; undefined if the address stands for many clients. */
export type ConnectionKeyOf = (address: string | undefined) => string | undefined

/** Returns the keys of a port whose clients may connect through `trustedProxies` (CIDRs). Throws if a network is invalid. */
export function createConnectionKeys(trustedProxies: readonly string[]): ConnectionKeyOf {
  return connectionKeys(createTrustedProxyTest(trustedProxies))
}

function connectionKeys(isTrustedProxy: (address: string | undefined) => boolean): ConnectionKeyOf {
  return (address) =>
    address === undefined || isTrustedProxy(address) ? undefined : clientAddressKey(address)
}

/** Decides which connections the port accepts. The limits do not apply to addresses of trusted proxies, except the total. */
export interface ConnectionAdmission {
  /** Counts a new connection until `remove`. Returns false, and counts nothing, if there are too many. */
  add(connection: Connection): boolean
  /** The connection has sent enough to detect its protocol, and completed its handshake. */
  markDecided(connection: Connection): void
  remove(connection: Connection): void
  /** The connection was closed for violating or flooding its protocol. */
  reportAbuse(address: string | undefined): void
  dropUndecided(): void
  readonly open: number
  readonly undecided: number
}

export function createConnectionAdmission(
  limits: ConnectionLimits,
  isTrustedProxy: (address: string | undefined) => boolean,
  clock: () => number = () => performance.now(),
): ConnectionAdmission {
  const open = new Map<Connection, string | undefined>()
  // In the order of their arrival.
  const undecided = new Set<Connection>()
  const addresses = new OpenCounts<string>(limits.connectionsPerAddressMax)
  const abuses = createGrowingCache<{ count: number; readonly endMs: number }>(limits.connectionsMax)
  const keyOf = connectionKeys(isTrustedProxy)
  const abuseOf = (key: string) => {
    const known = abuses.get(key)
    return known !== undefined && clock() < known.endMs ? known : undefined
  }
  const dropOldest = () => {
    const [oldest] = undecided
    if (oldest === undefined) return false
    remove(oldest)
    oldest.destroy()
    return true
  }
  const remove = (connection: Connection) => {
    if (!open.has(connection)) return
    const key = open.get(connection)
    if (key !== undefined) addresses.remove(key)
    open.delete(connection)
    undecided.delete(connection)
  }

  return {
    add(connection) {
      const key = keyOf(connection.remoteAddress)
      if (key !== undefined && (abuseOf(key)?.count ?? 0) >= limits.abusiveConnectionsPerAddressMax)
        return false
      // First, so that a client that has too many closes no connections of others.
      if (key !== undefined && !addresses.add(key)) return false
      if (open.size >= limits.connectionsMax && !dropOldest()) {
        if (key !== undefined) addresses.remove(key)
        return false
      }
      if (undecided.size >= limits.undecidedConnectionsMax) dropOldest()
      open.set(connection, key)
      undecided.add(connection)
      return true
    },
    markDecided: (connection) => void undecided.delete(connection),
    remove,
    reportAbuse(address) {
      const key = keyOf(address)
      if (key === undefined) return
      const known = abuseOf(key)
      if (known !== undefined) known.count += 1
      else abuses.set(key, { count: 1, endMs: clock() + limits.abuseWindowMs })
    },
    dropUndecided() {
      while (dropOldest()) {}
    },
    get open() {
      return open.size
    },
    get undecided() {
      return undecided.size
    },
  }
}
