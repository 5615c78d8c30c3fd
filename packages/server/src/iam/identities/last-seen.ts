import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { createServerQueues } from '../../storage/changes/server-queues.ts'
import { type Db, inTransaction } from '../../storage/db.ts'

/**
 * When identities were last used. Exchanges are too frequent to write each of them, so the newest time of each identity waits in memory for
 * a second; reads on this node see it immediately.
 */
export interface LastSeen {
  /** Records that an identity was used now. */
  touch(uid: string): void
  /** The newest known time of a stored identity. */
  latest(row: { readonly uid: string; readonly last_seen_ms: number }): number
  /** Writes the pending times, and stops. */
  stop(): Promise<void>
}

/** An identity, and when it was used. */
interface Seen {
  readonly uid: string
  ms: number
}

const FLUSH_INTERVAL_MS = 1000

export function createLastSeen({
  db,
  clock,
  onError,
}: {
  readonly db: Db
  readonly clock: () => number
  readonly onError: (error: unknown) => void
}): LastSeen {
  /** Times that are not written yet, by uid. */
  const unwritten = new Map<string, number>()

  const write = (rows: readonly Seen[]) =>
    inTransaction(db, async (tx) => {
      for (const { uid, ms } of rows)
        await tx
          .updateTable('identities')
          .set({ last_seen_ms: ms })
          .where('root', '=', rootOf(uid))
          .where('uid', '=', uid)
          .where('last_seen_ms', '<', ms)
          .execute()
    })
  const queues = createServerQueues<Seen>({
    db,
    max: limits.lastSeenPendingMax,
    intervalMs: FLUSH_INTERVAL_MS,
    rootOf: ({ uid }) => rootOf(uid),
    merge: {
      keyOf: ({ uid }) => uid,
      add: (waiting, { ms }) => {
        waiting.ms = Math.max(waiting.ms, ms)
      },
    },
    async write(rows) {
      try {
        // In uid order, so that nodes that write the same identities do not wait for each other in a circle.
        await write(rows.toSorted((a, b) => (a.uid < b.uid ? -1 : 1)))
      } catch (error) {
        onError(error)
        return { rows, hasFailed: true }
      }
      for (const { uid, ms } of rows) if ((unwritten.get(uid) ?? 0) <= ms) unwritten.delete(uid)
      return { rows: [], hasFailed: false }
    },
    onDropped() {},
  })

  return {
    touch(uid) {
      const ms = clock()
      if (queues.add({ uid, ms })) unwritten.set(uid, ms)
    },
    latest: ({ uid, last_seen_ms }) => Math.max(unwritten.get(uid) ?? 0, last_seen_ms),
    stop: () => queues.stop(),
  }
}
