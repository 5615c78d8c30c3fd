import type { CompiledQuery, DatabaseConnection, Kysely, QueryResult } from 'kysely'
import type { Tx } from '../db.ts'
import type { Tables } from '../schema/tables.ts'

/**
 * Transactions on SQLite, in which statements that are compiled already go to the connection directly: through Kysely's executor, one takes
 * half as much time again (ADR 100).
 */

const connections = new WeakMap<Tx, DatabaseConnection>()

/** Runs `work` in a transaction on SQLite, and commits it before the promise is fulfilled. PostgreSQL: storage/db.ts. */
export function runSqliteTransaction<T>(kysely: Kysely<Tables>, work: (tx: Tx) => Promise<T>): Promise<T> {
  return kysely.transaction().execute(async (tx) => {
    await tx.getExecutor().provideConnection(async (connection) => void connections.set(tx, connection))
    try {
      return await work(tx)
    } finally {
      // Kysely rejects the statements of a transaction that has ended.
      connections.delete(tx)
    }
  })
}

/** Runs a compiled statement in a transaction, on any engine. */
export function executeIn<R>(tx: Tx, query: CompiledQuery): Promise<QueryResult<R>> {
  return connections.get(tx)?.executeQuery<R>(query) ?? tx.executeQuery<R>(query)
}
