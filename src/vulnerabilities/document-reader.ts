import { Worker } from 'node:worker_threads'
import { limits } from '../core/limits.ts'
import type { Format, ReadResult } from './advisory-record.ts'
import type { ReadingReply, ReadingRequest } from './reading-thread.ts'

/** Reads documents away from the event loop, each within its time and memory. */
export interface DocumentReader {
  /** Never rejects for what is in the document: one that takes too long or too much is refused like a bad one. */
  read(name: string, format: Format | '', content: Uint8Array): Promise<ReadResult>
  close(): Promise<void>
}

interface Thread {
  readonly worker: Worker
  /** When it can read, or never will. Starting takes no document's time: a busy machine refuses none. */
  readonly ready: Promise<void>
  readonly waiting: Map<number, (result: ReadResult) => void>
}

export type ReadingBounds = Readonly<Record<'documentReadingMsMax' | 'documentReadingMemoryMib', number>>

/** One thread, started with the first document: importing is work of the background. */
export function documentReader({
  documentReadingMsMax: msMax,
  documentReadingMemoryMib: memoryMib,
}: ReadingBounds = limits): DocumentReader {
  let thread: Thread | undefined
  let turn: Promise<unknown> = Promise.resolve()
  let lastId = 0

  const start = (): Thread => {
    const worker = new Worker(new URL('./reading-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: memoryMib },
    })
    const { promise: ready, resolve: begin } = Promise.withResolvers<void>()
    const started: Thread = { worker, ready, waiting: new Map() }
    worker.on('message', (reply: ReadingReply | 'ready') => {
      if (reply === 'ready') return begin()
      started.waiting.get(reply.id)?.(reply.result)
      started.waiting.delete(reply.id)
    })
    const end = (reason: string) => {
      if (thread === started) thread = undefined
      begin()
      for (const tell of started.waiting.values()) tell({ rejection: { line: 0, reason } })
      started.waiting.clear()
    }
    worker.on('error', (error: NodeJS.ErrnoException) =>
      end(
        error.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? `needs more than ${memoryMib} MiB to be read`
          : `cannot be read: ${error.message}`,
      ),
    )
    worker.on('exit', () => end('cannot be read: the thread that read it ended'))
    worker.unref()
    return started
  }

  const readAlone = async (name: string, format: Format | '', content: Uint8Array): Promise<ReadResult> => {
    thread ??= start()
    const { worker, waiting, ready } = thread
    const reading = Promise.withResolvers<ReadResult>()
    const id = ++lastId
    waiting.set(id, reading.resolve)
    worker.ref()
    await ready
    const timer = setTimeout(() => {
      waiting.delete(id)
      reading.resolve({ rejection: { line: 0, reason: `takes longer than ${msMax / 1000} s to be read` } })
      if (thread?.worker === worker) thread = undefined
      void worker.terminate()
    }, msMax)
    worker.postMessage({ id, name, format, content } satisfies ReadingRequest)
    const result = await reading.promise
    clearTimeout(timer)
    worker.unref()
    return result
  }

  return {
    read(name, format, content) {
      const result = turn.then(() => readAlone(name, format, content))
      turn = result
      return result
    },
    async close() {
      await thread?.worker.terminate()
    },
  }
}
