import { limits } from '../../config/limits.ts'
import { startPeriodicTask } from '../../runtime/periodic-task.ts'
import { type Db, inTransaction, type Reader } from '../db.ts'
import type { NodeRow } from '../schema/tables.ts'

/** The server processes that use the database, as each reports itself. */

/** What a node reports. */
export type NodeFacts = Pick<NodeRow, 'name' | 'version' | 'base_url' | 'listen_address'>

export interface NodeHeartbeat {
  /** Deletes the row of the node. */
  stop(): Promise<void>
}

/** Registers this process, and writes signs of life until it stops. Deletes nodes that have not written any for long. */
export async function startNodeHeartbeat(
  {
    db,
    clock,
    isWorker = false,
  }: { readonly db: Db; readonly clock: () => number; readonly isWorker?: boolean },
  facts: NodeFacts,
  onError: (error: unknown) => void,
): Promise<NodeHeartbeat> {
  const hasOthers = db.rules.isShared || isWorker
  const row: NodeRow = { ...facts, id: db.node, started_ms: clock(), seen_ms: clock() }
  const beat = () =>
    inTransaction(db, async (tx) => {
      const seen = { ...row, seen_ms: clock() }
      await tx
        .insertInto('nodes')
        .values(seen)
        .onConflict((conflict) => conflict.column('id').doUpdateSet(seen))
        .execute()
      const forgottenMs = clock() - limits.nodeForgottenMs
      // A database for one server has no other nodes: rows of those that crashed stay only until the next start.
      await (hasOthers
        ? tx.deleteFrom('nodes').where('seen_ms', '<', forgottenMs)
        : tx.deleteFrom('nodes').where('id', '!=', row.id)
      ).execute()
    })
  // A server starts on a full disk, too, and registers when there is space.
  let isRegistered = false
  const attempt = async () => {
    if (isRegistered && !hasOthers) return
    await beat()
    isRegistered = true
  }
  await attempt().catch(onError)
  const task = startPeriodicTask(limits.nodeHeartbeatMs, attempt, onError)
  return {
    async stop() {
      await task.stop()
      // The row of a node that cannot delete it is forgotten later.
      await inTransaction(db, (tx) => tx.deleteFrom('nodes').where('id', '=', row.id).execute()).catch(
        onError,
      )
    },
  }
}

/** Lists the known nodes by name. */
export function readNodes(db: Reader): Promise<NodeRow[]> {
  return db.selectFrom('nodes').selectAll().orderBy('name').orderBy('started_ms').orderBy('id').execute()
}

/** The name of processes that are not nodes: commands, and nodes that are not known any more. */
const OTHER_PROCESS = 'command'

/** Returns the name of a node by its id; '' for the id ''. */
export function nodeNames(nodes: readonly NodeRow[]): (id: string) => string {
  const byId = new Map(nodes.map(({ id, name }) => [id, name]))
  return (id) => (id === '' ? '' : (byId.get(id) ?? OTHER_PROCESS))
}
