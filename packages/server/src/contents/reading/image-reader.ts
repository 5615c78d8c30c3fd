import { limits } from '../../config/limits.ts'
import type { OpenStream } from '../../runtime/workers/process-streams.ts'
import {
  createWorkerProcess,
  WorkerFailure,
  type WorkerProcess,
} from '../../runtime/workers/worker-process.ts'
import type { ReadImageRequest, Reading } from './reading.ts'

/** Reads images in processes of their own, each within time and memory. */
export interface ImageReader {
  /** Rejects with an UnreadableImage, with what `open` throws, or with the reason of the signal. */
  read(request: ReadImageRequest, open: OpenStream, signal: AbortSignal): Promise<Reading>
  close(): Promise<void>
}

/** The message continues "could not be read, because". */
export class UnreadableImage extends Error {
  override readonly name = 'UnreadableImage'
  /** Whether another attempt may succeed. */
  readonly isTemporary: boolean

  constructor(message: string, isTemporary: boolean) {
    super(message)
    this.isTemporary = isTemporary
  }
}

/** The repo does not have a blob or manifest: a problem of the image, not of the blob store. */
export class MissingBlob extends Error {
  override readonly name = 'MissingBlob'
}

export type ReaderLimits = Readonly<
  Record<'contentsReadMsMax' | 'contentsMemoryMib' | 'workerProcessIdleMs', number>
>

/** A process for each image that is read at the same time, kept for the next one. */
export function createImageReader({
  contentsReadMsMax: msMax,
  contentsMemoryMib: memoryMib,
  workerProcessIdleMs: idleMs,
}: ReaderLimits = limits): ImageReader {
  const module = new URL('./image-reader-process.ts', import.meta.url)
  const all = new Set<WorkerProcess<ReadImageRequest, Reading>>()
  const free: WorkerProcess<ReadImageRequest, Reading>[] = []

  const take = () => {
    const known = free.pop()
    if (known !== undefined) return known
    const created = createWorkerProcess<ReadImageRequest, Reading>(module, {
      msMax,
      memoryMib,
      idleMs,
      isBackground: true,
    })
    all.add(created)
    return created
  }

  return {
    async read(request, open, signal) {
      signal.throwIfAborted()
      const worker = take()
      const stop = () => {
        all.delete(worker)
        void worker.close()
      }
      signal.addEventListener('abort', stop, { once: true })
      // The process reports a blob that cannot be opened as a problem of the image; here it is known that it is not.
      let storeFailure: { readonly error: unknown } | undefined
      const fail = (error: unknown): never => {
        if (!(error instanceof MissingBlob)) storeFailure = { error }
        throw error
      }
      const opened: OpenStream = async (name) => {
        const { bytes, file } = await open(name).catch(fail)
        return { bytes: catchFailure(bytes, fail), file }
      }
      try {
        const reading = await worker.run(request, opened)
        if (storeFailure !== undefined) throw storeFailure.error
        return reading
      } catch (error) {
        signal.throwIfAborted()
        if (storeFailure !== undefined) throw storeFailure.error
        if (!(error instanceof WorkerFailure)) throw error
        throw unreadable(error, { msMax, memoryMib })
      } finally {
        signal.removeEventListener('abort', stop)
        if (all.has(worker)) free.push(worker)
      }
    },
    async close() {
      await Promise.all([...all].map((worker) => worker.close()))
    },
  }
}

async function* catchFailure<T>(items: AsyncIterable<T>, fail: (error: unknown) => never): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    fail(error)
  }
}

function unreadable(
  { reason, message }: WorkerFailure,
  { msMax, memoryMib }: { readonly msMax: number; readonly memoryMib: number },
): UnreadableImage {
  switch (reason) {
    case 'time':
      return new UnreadableImage(`it takes longer than ${msMax / 1000} s (contentsReadMsMax)`, false)
    case 'memory':
      return new UnreadableImage(`it needs more than ${memoryMib} MiB (contentsMemoryMib)`, false)
    case 'failed':
      return new UnreadableImage(`the reader failed: ${message.split('\n')[0]}`, false)
    default:
      return new UnreadableImage(message, true)
  }
}
