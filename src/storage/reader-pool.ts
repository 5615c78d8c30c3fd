import { Worker } from 'node:worker_threads'
import type { ReadReply, ReadRequest } from './reader-worker.ts'

/** Threads that run long SELECTs on a SQLite file, so that the event loop never waits for one. */
export interface ReaderPool {
  run(sql: string, parameters: readonly unknown[]): Promise<unknown[]>
  close(): Promise<void>
}

const READERS = 2

interface Reader {
  readonly worker: Worker
  readonly pending: Map<number, PromiseWithResolvers<unknown[]>>
}

/** Threads start with the first long read: most installations never need one. */
export function readerPool(file: string): ReaderPool {
  const readers: Reader[] = []
  let lastId = 0

  const start = (): Reader => {
    const worker = new Worker(new URL('./reader-worker.ts', import.meta.url), { workerData: { file } })
    const reader: Reader = { worker, pending: new Map() }
    worker.on('message', (reply: ReadReply) => {
      const waiter = reader.pending.get(reply.id)
      reader.pending.delete(reply.id)
      if ('rows' in reply) waiter?.resolve(reply.rows)
      else waiter?.reject(new Error(`reading failed: ${reply.error}`))
      if (reader.pending.size === 0) worker.unref() // an idle pool must not keep the process alive
    })
    const fail = (cause: unknown) => {
      readers.splice(readers.indexOf(reader), 1)
      for (const waiter of reader.pending.values())
        waiter.reject(new Error('a reader thread died', { cause }))
      reader.pending.clear()
    }
    worker.on('error', fail)
    worker.on('exit', (code) => {
      if (readers.includes(reader)) fail(`exit code ${code}`)
    })
    worker.unref()
    readers.push(reader)
    return reader
  }

  return {
    run(sql, parameters) {
      const idle = readers.find((reader) => reader.pending.size === 0)
      const least = () => readers.reduce((a, b) => (b.pending.size < a.pending.size ? b : a))
      const reader = idle ?? (readers.length < READERS ? start() : least())
      const waiter = Promise.withResolvers<unknown[]>()
      const id = ++lastId
      reader.pending.set(id, waiter)
      reader.worker.ref()
      reader.worker.postMessage({ id, sql, parameters } satisfies ReadRequest)
      return waiter.promise
    },
    async close() {
      const stopping = readers.splice(0)
      await Promise.all(stopping.map((reader) => reader.worker.terminate()))
    },
  }
}
