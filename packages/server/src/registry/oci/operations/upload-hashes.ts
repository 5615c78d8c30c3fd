import type { Hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { limits } from '../../../config/limits.ts'

/**
 * Hashes of uploads between their requests, so that no byte is hashed twice when one process sees them all: the state of a hash cannot
 * be written down. What is not here any more, or was gone on with elsewhere, is read again when the upload is finished.
 */
export interface UploadHashes {
  /** The hash of the first `size` bytes, for its taker alone. */
  take(id: string, size: number): Hash | undefined
  put(id: string, size: number, hash: Hash): void
}

export function createUploadHashes(): UploadHashes {
  const cache = new LRUCache<string, { readonly size: number; readonly hash: Hash }>({
    max: limits.uploadHashesMax,
  })
  return {
    take(id, size) {
      const known = cache.get(id)
      cache.delete(id)
      return known?.size === size ? known.hash : undefined
    },
    put: (id, size, hash) => void cache.set(id, { size, hash }),
  }
}
