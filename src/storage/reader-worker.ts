import { parentPort, workerData } from 'node:worker_threads'
import { openSqlite, statementRunner } from './sqlite.ts'

/** One thread of the reader pool: a read-only connection that answers one statement after the other. */

export interface ReadRequest {
  readonly id: number
  readonly sql: string
  readonly parameters: readonly unknown[]
}

export type ReadReply =
  | { readonly id: number; readonly rows: unknown[] }
  | { readonly id: number; readonly error: string }

const port = parentPort
if (port === null) throw new Error('reader-worker.ts runs in a worker thread only')

const run = statementRunner(openSqlite((workerData as { file: string }).file, { readonly: true }))

port.on('message', ({ id, sql, parameters }: ReadRequest) => {
  try {
    port.postMessage({ id, rows: run(sql, parameters).rows } satisfies ReadReply)
  } catch (error) {
    port.postMessage({ id, error: String(error) } satisfies ReadReply)
  }
})
