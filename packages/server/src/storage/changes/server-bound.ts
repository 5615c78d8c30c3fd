/**
 * Bounds what waits in memory for a database. A server of a distributed one may hold at most as many as remain free (ADR 108): one that does
 * not respond holds at most half.
 */
export interface ServerBound {
  /** Counts one more for a server; returns false if too many wait. `server`: undefined if there is one, or it is not known. */
  take(server: number | undefined): boolean
  release(server: number | undefined): void
  /** Returns how many a server can have while the others have what they have now. */
  maxOf(server: number | undefined): number
}

export function createServerBound(max: number): ServerBound {
  let all = 0
  const held = new Map<number | undefined, number>()
  const of = (server: number | undefined) => held.get(server) ?? 0
  const count = (server: number | undefined, change: 1 | -1) => {
    all += change
    held.set(server, of(server) + change)
  }
  return {
    take(server) {
      const free = max - all
      if (free <= 0 || (server !== undefined && of(server) >= free)) return false
      count(server, 1)
      return true
    },
    release: (server) => count(server, -1),
    maxOf(server) {
      const left = max - (all - of(server))
      return server === undefined ? left : Math.ceil(left / 2)
    },
  }
}
