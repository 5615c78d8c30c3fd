import { nodeShares, runShared } from '../../pipeline/request/request-context.ts'
import type { Db } from '../db.ts'
import { createServerBound } from './server-bound.ts'

/**
 * Rows of many organizations that wait in memory to be written. Those of each server of a distributed database are written on their own, so
 * that they wait for no other server. A database on one server has one queue.
 */
export interface ServerQueues<T> {
  /** Queues a row, or merges it with one that waits; returns false if too many wait. */
  add(row: T): boolean
  /** Writes what waits: on the servers of some organizations, or on all. */
  flush(organizations?: readonly string[]): Promise<void>
  /**
   * Writes what waits, and stops. A server whose rows cannot be written gets no second attempt: they are dropped. It does not delay other
   * servers.
   */
  stop(): Promise<void>
}

/** What a write has not written. */
export interface Unwritten<T> {
  /** They are written later, each on the server of its organization. */
  readonly rows: readonly T[]
  /** Whether the server did not accept them: the rows behind them wait, too. */
  readonly hasFailed: boolean
}

/** Makes rows with equal keys one, such as counts of the same thing. */
export interface Merge<T> {
  readonly keyOf: (row: T) => string
  /** Adds a row to one that waits. Does not change its organization. */
  readonly add: (waiting: T, row: T) => void
}

export interface ServerQueuesOptions<T> {
  readonly db: Pick<Db, 'serverOf'>
  /** Rows that wait, including those that are being written. */
  readonly max: number
  readonly intervalMs: number
  /** Rows of one write; all that wait without it. */
  readonly batch?: number
  /** Returns the uid of the organization of a row. */
  readonly rootOf: (row: T) => string
  /** Without it, each row waits on its own. */
  readonly merge?: Merge<T>
  /** Writes rows of one server. Does not reject. */
  readonly write: (rows: readonly T[]) => Promise<Unwritten<T>>
  /** Receives the number of rows that were queued and are not written. */
  readonly onDropped: (rows: number) => void
}

interface Queue<T> {
  readonly server: number | undefined
  /** In order, without those that are being written. */
  rows: T[]
  /** The same rows by key, if rows are merged. */
  readonly byKey: Map<string, T>
  running: Promise<void> | undefined
  /** Whether the last write failed: the next one starts after the interval, not before. */
  hasFailed: boolean
}

export function createServerQueues<T>({
  db,
  max,
  intervalMs,
  batch = max,
  rootOf,
  merge,
  write,
  onDropped,
}: ServerQueuesOptions<T>): ServerQueues<T> {
  const queues = new Map<number | undefined, Queue<T>>()
  const bound = createServerBound(max)

  const queueOf = (server: number | undefined): Queue<T> => {
    let queue = queues.get(server)
    if (queue === undefined) {
      queue = { server, rows: [], byKey: new Map(), running: undefined, hasFailed: false }
      queues.set(server, queue)
    }
    return queue
  }

  /** Merges a row with one that waits. Returns false if there is none: the caller adds the row to the queue. */
  const mergeIntoWaiting = (queue: Queue<T>, row: T): boolean => {
    if (merge === undefined) return false
    const waiting = queue.byKey.get(merge.keyOf(row))
    if (waiting !== undefined) merge.add(waiting, row)
    return waiting !== undefined
  }
  const index = (queue: Queue<T>, row: T) => {
    if (merge !== undefined) queue.byKey.set(merge.keyOf(row), row)
  }
  /** Removes the first rows. */
  const take = (queue: Queue<T>, count: number): readonly T[] => {
    const rows = queue.rows.splice(0, count)
    if (merge !== undefined) for (const row of rows) queue.byKey.delete(merge.keyOf(row))
    return rows
  }

  /** Queues rows first, those of another server in its queue: shards move, and an event can be attributed to another organization. */
  const putBack = (from: Queue<T>, rows: readonly T[]) => {
    let dropped = 0
    for (const [server, rowsOfServer] of Map.groupBy(rows, (row) => db.serverOf(rootOf(row)))) {
      const queue = queueOf(server)
      if (queue !== from) for (const _ of rowsOfServer) bound.release(from.server)
      const first: T[] = []
      for (const row of rowsOfServer) {
        if (mergeIntoWaiting(queue, row)) {
          if (queue === from) bound.release(server)
        } else if (queue === from || bound.take(server)) {
          index(queue, row)
          first.push(row)
        } else dropped++
      }
      queue.rows = [...first, ...queue.rows]
    }
    if (dropped > 0) onDropped(dropped)
  }

  /** Writes what waits now: rows that come meanwhile are written together later. */
  const run = async (queue: Queue<T>) => {
    for (let left = queue.rows.length; left > 0; ) {
      const rows = take(queue, Math.min(batch, left))
      left -= rows.length
      const unwritten = await write(rows)
      for (let n = unwritten.rows.length; n < rows.length; n++) bound.release(queue.server)
      putBack(queue, unwritten.rows)
      queue.hasFailed = unwritten.hasFailed
      if (queue.hasFailed) return
      // Let other requests run.
      if (left > 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const start = (queue: Queue<T>): Promise<void> => {
    const [first] = queue.rows
    const root = first === undefined ? '' : rootOf(first)
    queue.running = runShared(() => run(queue), nodeShares.writes, root).finally(() => {
      queue.running = undefined
      startIfHalfFull(queue)
    })
    return queue.running
  }
  const startIfHalfFull = (queue: Queue<T>) => {
    const { rows, server, running, hasFailed } = queue
    if (running === undefined && !hasFailed && rows.length > 0 && 2 * rows.length >= bound.maxOf(server))
      void start(queue)
  }

  const timer = setInterval(() => {
    for (const queue of queues.values())
      if (queue.running === undefined && queue.rows.length > 0) void start(queue)
  }, intervalMs)
  timer.unref()

  return {
    add(row) {
      const server = db.serverOf(rootOf(row))
      const queue = queueOf(server)
      if (mergeIntoWaiting(queue, row)) return true
      if (!bound.take(server)) return false
      index(queue, row)
      queue.rows.push(row)
      startIfHalfFull(queue)
      return true
    },
    async flush(organizations) {
      // What was queued before the servers were known has a queue of its own.
      const servers =
        organizations === undefined ? queues.keys() : [...organizations.map(db.serverOf), undefined]
      await Promise.all(
        [...new Set(servers)].map(async (server) => {
          const queue = queueOf(server)
          while (queue.running !== undefined) await queue.running
          if (queue.rows.length > 0) await start(queue)
        }),
      )
    },
    async stop() {
      clearInterval(timer)
      for (const queue of queues.values()) if (queue.running === undefined) queue.hasFailed = false
      for (;;) {
        const open = [...queues.values()].filter(
          ({ running, rows, hasFailed }) => running !== undefined || (rows.length > 0 && !hasFailed),
        )
        if (open.length === 0) break
        await Promise.race(open.map((queue) => queue.running ?? start(queue)))
      }
      let dropped = 0
      for (const queue of queues.values())
        for (const _ of take(queue, queue.rows.length)) {
          bound.release(queue.server)
          dropped++
        }
      if (dropped > 0) onDropped(dropped)
    },
  }
}
