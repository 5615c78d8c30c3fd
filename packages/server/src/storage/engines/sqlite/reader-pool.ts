import { Worker } from 'node:worker_threads'
import { limits } from '../../../config/limits.ts'
import { currentContext } from '../../../pipeline/request/request-context.ts'
import type { ReadRequest, ReadResult } from './reader-worker.ts'

/** Threads that run long SELECTs on a SQLite file, so that the event loop never waits for one. */
export interface ReaderPool {
  run(sql: string, parameters: readonly unknown[]): Promise<unknown[]>
  close(): Promise<void>
}

const READERS_MAX = 2

interface QueuedRead {
  readonly request: ReadRequest
  readonly waiter: PromiseWithResolvers<unknown[]>
}

interface ReaderThread {
  readonly worker: Worker
  running: QueuedRead | undefined
  idle: NodeJS.Timeout | undefined
}

/**
 * Threads start with the first long read, since most installations never need one, and end after `idleMs` without work. Reads whose callers
 * went away do not start.
 */
export function readerPool(file: string, idleMs: number = limits.readerThreadIdleMs): ReaderPool {
  const readers: ReaderThread[] = []
  const waiting = new Set<QueuedRead>()

  const start = (): ReaderThread => {
    const worker = new Worker(new URL('./reader-worker.ts', import.meta.url), { workerData: { file } })
    const reader: ReaderThread = { worker, running: undefined, idle: undefined }
    worker.on('message', (reply: ReadResult) => {
      const waiter = reader.running?.waiter
      reader.running = undefined
      if ('rows' in reply) waiter?.resolve(reply.rows)
      else waiter?.reject(new Error(`reading failed: ${reply.error}`))
      worker.unref() // an idle pool must not keep the process alive
      startWaiting()
      if (reader.running !== undefined) return
      reader.idle = setTimeout(() => {
        readers.splice(readers.indexOf(reader), 1)
        void worker.terminate()
      }, idleMs).unref()
    })
    const fail = (cause: unknown) => {
      clearTimeout(reader.idle)
      if (!readers.includes(reader)) return
      readers.splice(readers.indexOf(reader), 1)
      reader.running?.waiter.reject(new Error('a reader thread died', { cause }))
      reader.running = undefined
      startWaiting()
    }
    worker.on('error', fail)
    worker.on('exit', (code) => fail(`exit code ${code}`))
    worker.unref()
    readers.push(reader)
    return reader
  }

  const idleReader = () =>
    readers.find(({ running }) => running === undefined) ??
    (readers.length < READERS_MAX ? start() : undefined)

  const startWaiting = () => {
    for (const read of waiting) {
      const reader = idleReader()
      if (reader === undefined) return
      waiting.delete(read)
      reader.running = read
      clearTimeout(reader.idle)
      reader.worker.ref()
      reader.worker.postMessage(read.request)
    }
  }

  return {
    async run(sql, parameters) {
      const context = currentContext()
      context?.throwIfAborted()
      const read: QueuedRead = { request: { sql, parameters }, waiter: Promise.withResolvers<unknown[]>() }
      const stopListening = context?.onAbort(() => {
        if (waiting.delete(read)) read.waiter.reject(context.aborted)
      })
      waiting.add(read)
      startWaiting()
      return read.waiter.promise.finally(stopListening)
    },
    async close() {
      const stopping = readers.splice(0)
      for (const { waiter } of waiting) waiter.reject(new Error('the database is closed'))
      waiting.clear()
      for (const { idle } of stopping) clearTimeout(idle)
      await Promise.all(stopping.map((reader) => reader.worker.terminate()))
    },
  }
}
