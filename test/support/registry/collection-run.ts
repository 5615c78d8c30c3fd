import { setTimeout } from 'node:timers/promises'
import { collectGarbage } from '@berth/server/registry/gc/garbage-collection.ts'
import { inTransaction, type Tx } from '@berth/server/storage/db.ts'
import type { TestBerth } from '../server/test-berth.ts'

/** Garbage collection on a server of a test. */

const GRACE_MS = 60_000
/** Until it waits for a transaction, also on a busy machine. */
const WAITING_MS = 1500

export function collectNow({ berth }: Pick<TestBerth, 'berth'>, dryRun = false) {
  const { installation, blobs } = berth
  return collectGarbage({
    store: installation.store,
    blobs,
    graceMs: GRACE_MS,
    dryRun,
    requireKnownStore: true,
  })
}

/** Starts it between the writes of a transaction and its commit, as between the commits of two servers of a distributed database. */
export async function collectBeforeCommit(
  server: Pick<TestBerth, 'berth'>,
  write: (tx: Tx) => Promise<void>,
): Promise<void> {
  const isWritten = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const writing = inTransaction(server.berth.installation.store.db, async (tx) => {
    await write(tx)
    isWritten.resolve()
    await end.promise
  })
  await isWritten.promise
  const collecting = collectNow(server)
  await Promise.race([collecting, setTimeout(WAITING_MS)])
  end.resolve()
  await Promise.all([writing, collecting])
}
