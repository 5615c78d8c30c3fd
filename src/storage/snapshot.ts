import type { Db, DbSource } from './db.ts'

/** A database as it was at one moment, however long the reading takes, on a connection of its own. */

export type Reads = Pick<Db, 'engine' | 'read'>

export interface Snapshot extends Reads {
  close(): Promise<void>
}

/** For other processes: on SQLite every read holds up whoever reads. */
export function openSnapshot(source: DbSource): Promise<Snapshot> {
  return source.engine === 'sqlite' ? ofSqlite(source.file) : ofPostgres(source.url)
}

async function ofSqlite(file: string): Promise<Snapshot> {
  const { openSqlite, statementRunner } = await import('./sqlite.ts')
  const database = openSqlite(file, { readonly: true })
  const run = statementRunner(database)
  // The moment is that of the first read.
  database.exec('begin')
  return {
    engine: 'sqlite',
    read: <R>(text: string, parameters: readonly unknown[]) => run(text, parameters).rows as R[],
    async close() {
      database.close()
    },
  }
}

async function ofPostgres(url: string): Promise<Snapshot> {
  const { openPostgres } = await import('./postgres.ts')
  // What breaks the connection is told by the read that meets it.
  const pool = openPostgres(url, () => {})
  try {
    const client = await pool.connect()
    await client.query('begin isolation level repeatable read read only')
    return {
      engine: 'postgres',
      async read<R>(text: string, parameters: readonly unknown[]) {
        const { rows } = await client.query(text, parameters as unknown[])
        return rows as R[]
      },
      async close() {
        client.release(true)
        await pool.end()
      },
    }
  } catch (error) {
    await pool.end()
    throw error
  }
}
