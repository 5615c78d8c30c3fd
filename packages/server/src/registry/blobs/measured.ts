import type { BlobStore } from './blob-store.ts'

/** Called with the duration of each blob store operation in seconds. `read` and `uploaded`: until the first bytes. */
export type ObserveBlobs = (operation: string, outcome: 'ok' | 'failed', seconds: number) => void

const SECOND_MS = 1000

/** Returns a store whose operations are measured. */
export function measuredBlobs(store: BlobStore, observe: ObserveBlobs): BlobStore {
  const start = (operation: string) => {
    const startMs = performance.now()
    return (outcome: 'ok' | 'failed') =>
      observe(operation, outcome, (performance.now() - startMs) / SECOND_MS)
  }
  const measure = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
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
  async function* measureFirstChunk(operation: string, bytes: () => AsyncIterable<Uint8Array>) {
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
  const { presignUrl: urlOf } = store
  return {
    ...store,
    append: (upload, bytes, options) => measure('append', () => store.append(upload, bytes, options)),
    readUpload: (upload) => measureFirstChunk('uploaded', () => store.readUpload(upload)),
    commit: (upload, location, options) => measure('keep', () => store.commit(upload, location, options)),
    discard: (upload, options) => measure('discard', () => store.discard(upload, options)),
    read: (location, range) => measureFirstChunk('read', () => store.read(location, range)),
    remove: (location) => measure('remove', () => store.remove(location)),
    presignUrl: urlOf && ((location) => measure('sign', () => urlOf(location))),
  }
}
