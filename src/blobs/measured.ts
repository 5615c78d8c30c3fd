import type { BlobStore } from './store.ts'

/** Receives how long an operation of a blob store took, in seconds. `read` and `uploaded`: until the first bytes. */
export type ObserveBlobs = (operation: string, outcome: 'ok' | 'failed', seconds: number) => void

const SECOND_MS = 1000

/** A store whose operations are measured. */
export function measuredBlobs(store: BlobStore, observe: ObserveBlobs): BlobStore {
  const start = (operation: string) => {
    const startMs = performance.now()
    return (outcome: 'ok' | 'failed') =>
      observe(operation, outcome, (performance.now() - startMs) / SECOND_MS)
  }
  const measured = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    const end = start(operation)
    try {
      const result = await work()
      end('ok')
      return result
    } catch (error) {
      end('failed')
      throw error
    }
  }
  async function* untilFirst(operation: string, bytes: () => AsyncIterable<Uint8Array>) {
    let end: ReturnType<typeof start> | undefined = start(operation)
    try {
      for await (const piece of bytes()) {
        end?.('ok')
        end = undefined
        yield piece
      }
      end?.('ok')
      end = undefined
    } catch (error) {
      end?.('failed')
      throw error
    }
  }
  const { urlOf } = store
  return {
    ...store,
    append: (upload, bytes, options) => measured('append', () => store.append(upload, bytes, options)),
    uploaded: (upload) => untilFirst('uploaded', () => store.uploaded(upload)),
    keep: (upload, location) => measured('keep', () => store.keep(upload, location)),
    discard: (upload) => measured('discard', () => store.discard(upload)),
    read: (location, range) => untilFirst('read', () => store.read(location, range)),
    remove: (location) => measured('remove', () => store.remove(location)),
    urlOf: urlOf && ((location) => measured('sign', () => urlOf(location))),
  }
}
