import { rootOf } from '../../api/uid.ts'
import { runShared } from '../../pipeline/request/request-context.ts'
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
  /** Writes the pending times and accepts no more. */
  stop(): Promise<void>
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
  let pending = new Map<string, number>()
  let writing = new Map<string, number>()

  const write = async () => {
    writing = pending
    pending = new Map()
    try {
      await inTransaction(db, async (tx) => {
        // In uid order, so that nodes that write the same identities do not wait for each other in a circle.
        for (const [uid, ms] of [...writing].sort(([a], [b]) => (a < b ? -1 : 1))) {
          await tx
            .updateTable('identities')
            .set({ last_seen_ms: ms })
            .where('root', '=', rootOf(uid))
            .where('uid', '=', uid)
            .where('last_seen_ms', '<', ms)
            .execute()
        }
      })
    } catch (error) {
      for (const [uid, ms] of writing) if (!pending.has(uid)) pending.set(uid, ms)
      onError(error)
    } finally {
      writing = new Map()
    }
  }
  let running: Promise<void> | undefined
  const flush = async () => {
    await running
    if (pending.size === 0) return
    running = runShared(write).finally(() => {
      running = undefined
    })
    await running
  }
  const timer = setInterval(() => void flush(), FLUSH_INTERVAL_MS)
  timer.unref()

  return {
    touch(uid) {
      pending.set(uid, clock())
    },
    latest: ({ uid, last_seen_ms }) => Math.max(pending.get(uid) ?? writing.get(uid) ?? 0, last_seen_ms),
    async stop() {
      clearInterval(timer)
      await flush()
    },
  }
}
