import { parentPort, workerData } from 'node:worker_threads'
import { openSqlite, statementRunner } from './statements.ts'

/** One thread of the reader pool: a read-only connection that runs one statement after the other. */

export interface ReadRequest {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

export type ReadResult = { readonly rows: unknown[] } | { readonly error: string }

const port = parentPort
if (port === null) throw new Error('reader-worker.ts runs in a worker thread only')

const run = statementRunner(openSqlite((workerData as { file: string }).file, { readonly: true }))

port.on('message', ({ sql, parameters }: ReadRequest) => {
  try {
    port.postMessage({ rows: run(sql, parameters).rows } satisfies ReadResult)
  } catch (error) {
    port.postMessage({ error: String(error) } satisfies ReadResult)
  }
})
