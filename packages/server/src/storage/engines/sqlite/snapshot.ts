import type { Snapshot } from '../../snapshot.ts'
import { openSqlite, statementRunner } from './statements.ts'

export function openSqliteSnapshot(file: string, batchRows: number): Snapshot {
  const database = openSqlite(file, { readonly: true })
  const run = statementRunner(database)
  // The first read fixes the moment.
  database.exec('begin')
  return {
    engine: 'sqlite',
    read: <R>(text: string, parameters: readonly unknown[]) => run(text, parameters).rows as R[],
    async *batches(text) {
      let batch: unknown[][] = []
      for (const row of database.prepare(text).raw().iterate()) {
        batch.push(row as unknown[])
        if (batch.length < batchRows) continue
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
