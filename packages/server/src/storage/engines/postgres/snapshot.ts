import type pg from 'pg'
import { limits } from '../../../config/limits.ts'
import type { Snapshot } from '../../snapshot.ts'
import { parseDatabaseAddress } from './address.ts'
import { postgresConnections, transactionBoundsSql } from './connection.ts'

export async function openPostgresSnapshot(url: string, batchRows: number): Promise<Snapshot> {
  const address = parseDatabaseAddress(url)
  if ('problem' in address) throw new Error(`the address of the database ${address.problem}`)
  // The read that meets a broken connection reports what broke it.
  const connections = postgresConnections(address.address, { max: 1, onError() {} })
  try {
    const connection = await connections.acquire()
    const ms = limits.databaseLongStatementMs
    const run = (query: pg.QueryConfig | pg.QueryArrayConfig) => connection.run(query, ms)
    // Between two batches their reader may wait for a slow disk or network.
    const bounds = transactionBoundsSql({ statementMs: ms, lockMs: ms, idleMs: ms })
    await run({ text: `begin isolation level repeatable read read only; ${bounds}` })
    return {
      engine: 'postgres',
      async read<R>(text: string, parameters: readonly unknown[]) {
        const { rows } = await run({ text, values: parameters as unknown[] })
        return rows as R[]
      },
      async *batches(text) {
        await run({ text: `declare batches no scroll cursor for ${text}` })
        const fetch = { text: `fetch forward ${batchRows} from batches`, rowMode: 'array' } as const
        for (;;) {
          const { rows } = await run(fetch)
          yield rows as unknown[][]
          if (rows.length < batchRows) break
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
