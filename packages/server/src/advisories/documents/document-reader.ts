import type { Format, ReadResult } from '@berth/advisory-formats/advisory-record.ts'
import { limits } from '../../config/limits.ts'
import { createWorkerProcess, WorkerFailure } from '../../runtime/workers/worker-process.ts'
import type { ReadDocumentRequest } from './document-reader-process.ts'

/** Reads documents away from the event loop, each within its time and memory. */
export interface DocumentReader {
  /** Never rejects for what is in the document: one that takes too long or too much is refused like a bad one. */
  read(name: string, format: Format | '', content: Uint8Array): Promise<ReadResult>
  close(): Promise<void>
}

export type ReadingLimits = Readonly<
  Record<'documentParseMsMax' | 'documentParseMemoryMib' | 'workerProcessIdleMs', number>
>

/** One process, started with the first document: importing is work of the background. */
export function createDocumentReader({
  documentParseMsMax: msMax,
  documentParseMemoryMib: memoryMib,
  workerProcessIdleMs: idleMs,
}: ReadingLimits = limits): DocumentReader {
  const worker = createWorkerProcess<ReadDocumentRequest, ReadResult>(
    new URL('./document-reader-process.ts', import.meta.url),
    {
      msMax,
      memoryMib,
      idleMs,
    },
  )
  const reasonOf = ({ reason, message }: WorkerFailure): string => {
    switch (reason) {
      case 'time':
        return `takes longer than ${msMax / 1000} s to be read`
      case 'memory':
        return `needs more than ${memoryMib} MiB to be read`
      default:
        return `cannot be read: ${message}`
    }
  }

  return {
    async read(name, format, content) {
      try {
        return await worker.run({ name, format, content })
      } catch (error) {
        if (!(error instanceof WorkerFailure)) throw error
        return { rejection: { line: 0, reason: reasonOf(error) } }
      }
    },
    close: () => worker.close(),
  }
}
