import type pg from 'pg'
import { limits } from '../config/limits.ts'
import type { Db, DbSource } from './db.ts'

/** A database as it was at one moment, however long the reading takes, on a connection of its own. */

export type DatabaseReader = Pick<Db, 'engine' | 'read'>

export interface Snapshot extends DatabaseReader {
  /** Rows of a query, each as the values of its columns, some hundreds at a time. One query at a time. */
  batches(text: string): AsyncIterable<readonly (readonly unknown[])[]>
  close(): Promise<void>
}

const BATCH_ROWS = 500

/** For other processes: on SQLite every read holds up whoever reads. */
export function openSnapshot(source: DbSource): Promise<Snapshot> {
  return source.engine === 'sqlite' ? openSqliteSnapshot(source.file) : openPostgresSnapshot(source.url)
}

async function openSqliteSnapshot(file: string): Promise<Snapshot> {
  const { openSqlite, statementRunner } = await import('./engines/sqlite/driver.ts')
  const database = openSqlite(file, { readonly: true })
  const run = statementRunner(database)
  // The moment is that of the first read.
  database.exec('begin')
  return {
    engine: 'sqlite',
    read: <R>(text: string, parameters: readonly unknown[]) => run(text, parameters).rows as R[],
    async *batches(text) {
      let batch: unknown[][] = []
      for (const row of database.prepare(text).raw().iterate()) {
        batch.push(row as unknown[])
        if (batch.length < BATCH_ROWS) continue
        yield batch
        batch = []
      }
      yield batch
    },
    async close() {
      database.close()
    },
  }
}

async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  const [{ transactionBoundsSql: boundsOfTransaction, postgresConnections }, { parseDatabaseAddress }] =
    await Promise.all([import('./engines/postgres/connection.ts'), import('./engines/postgres/address.ts')])
  const address = parseDatabaseAddress(url)
  if ('problem' in address) throw new Error(`the address of the database ${address.problem}`)
  // The read that meets a broken connection reports what broke it.
  const connections = postgresConnections(address.address, { max: 1, onError() {} })
  try {
    const connection = await connections.acquire()
    const ms = limits.databaseLongStatementMs
    const run = (query: pg.QueryConfig | pg.QueryArrayConfig) => connection.run(query, ms)
    // Between two batches their reader may wait for a slow disk or network.
    const bounds = boundsOfTransaction({ statementMs: ms, lockMs: ms, idleMs: ms })
    await run({ text: `begin isolation level repeatable read read only; ${bounds}` })
    return {
      engine: 'postgres',
      async read<R>(text: string, parameters: readonly unknown[]) {
        const { rows } = await run({ text, values: parameters as unknown[] })
        return rows as R[]
      },
      async *batches(text) {
        await run({ text: `declare batches no scroll cursor for ${text}` })
        const fetch = { text: `fetch forward ${BATCH_ROWS} from batches`, rowMode: 'array' } as const
        for (;;) {
          const { rows } = await run(fetch)
          yield rows as unknown[][]
          if (rows.length < BATCH_ROWS) break
        }
        await run({ text: 'close batches' })
      },
      async close() {
        connection.release(true)
        await connections.close()
      },
    }
  } catch (error) {
    await connections.close()
    throw error
  }
}
