import type { Db, DbSource, Engine } from './db.ts'

/** The database as it was at one moment, however long reading takes, on its own connection. */

export type DatabaseReader = Pick<Db, 'engine' | 'read'>

export interface Snapshot extends DatabaseReader {
  /** The rows of a query as arrays of values, some hundreds at a time. Run one query at a time. */
  batches(text: string): AsyncIterable<readonly (readonly unknown[])[]>
  close(): Promise<void>
}

const BATCH_ROWS = 500

const openers: { readonly [E in Engine]: (source: DbSource & { readonly engine: E }) => Promise<Snapshot> } =
  {
    sqlite: async ({ file }) =>
      (await import('./engines/sqlite/snapshot.ts')).openSqliteSnapshot(file, BATCH_ROWS),
    postgres: async ({ url }) =>
      (await import('./engines/postgres/snapshot.ts')).openPostgresSnapshot(url, BATCH_ROWS),
  }

/** For processes other than the server: on SQLite a read blocks the event loop. */
export function openSnapshot(source: DbSource): Promise<Snapshot> {
  return (openers[source.engine] as (source: DbSource) => Promise<Snapshot>)(source)
}
