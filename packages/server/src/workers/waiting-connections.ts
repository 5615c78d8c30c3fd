/**
 * Connections that wait for a worker. The addresses take turns, so connections of one address delay and displace only each other, however
 * many there are.
 */
export interface WaitingConnections<Connection> {
  readonly size: number
  /**
   * Adds a connection of an address; without an address it takes turns by itself. Returns the one to close if there are more than the
   * maximum: the last one of the address that has the most.
   */
  add(connection: Connection, address: string | undefined): Connection | undefined
  /** Adds a connection that had its turn. It is removed before all others, and does not count towards the maximum. */
  putBack(connection: Connection): void
  /** Removes the next connection. */
  next(): Connection | undefined
}

export function createWaitingConnections<Connection>(max: number): WaitingConnections<Connection> {
  const returned: Connection[] = []
  /** In the order of their turns. None is empty. */
  const queues = new Map<string | symbol, Connection[]>()
  let queued = 0

  const removeLastOfMost = () => {
    let most: readonly [string | symbol, Connection[]] | undefined
    // Of several, the one whose turn is last.
    for (const entry of queues) if (entry[1].length >= (most?.[1].length ?? 0)) most = entry
    if (most === undefined) return undefined
    const [key, queue] = most
    if (queue.length === 1) queues.delete(key)
    queued--
    return queue.pop()
  }
  return {
    get size() {
      return returned.length + queued
    },
    add(connection, address) {
      const key = address ?? Symbol()
      const queue = queues.get(key)
      if (queue === undefined) queues.set(key, [connection])
      else queue.push(connection)
      queued++
      return queued > max ? removeLastOfMost() : undefined
    },
    putBack: (connection) => void returned.push(connection),
    next() {
      if (returned.length > 0) return returned.shift()
      for (const [key, queue] of queues) {
        queues.delete(key)
        if (queue.length > 1) queues.set(key, queue)
        queued--
        return queue.shift()
      }
      return undefined
    },
  }
}
