import type { Format, ReadResult } from '@berth/advisory-formats/advisory-record.ts'
import { limits } from '../../config/limits.ts'
import { createWorkerProcess, WorkerFailure } from '../../runtime/workers/worker-process.ts'
import type { ReadDocumentRequest } from './document-reader-process.ts'

/** Parses documents off the event loop, each within a time and memory limit. */
export interface DocumentReader {
  /** Never rejects because of a document: one that exceeds a limit is reported as rejected. */
  read(name: string, format: Format | '', content: Uint8Array): Promise<ReadResult>
  close(): Promise<void>
}

export type ReadingLimits = Readonly<
  Record<'documentParseMsMax' | 'documentParseMemoryMib' | 'workerProcessIdleMs', number>
>

/** One process, started with the first document: imports are background work. */
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
        return `takes longer than ${msMax / 1000} s to parse`
      case 'memory':
        return `needs more than ${memoryMib} MiB to parse`
      default:
        return `cannot be parsed: ${message}`
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
