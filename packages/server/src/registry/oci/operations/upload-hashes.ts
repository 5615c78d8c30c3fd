import type { Hash } from 'node:crypto'
import { limits } from '../../../config/limits.ts'
import { createGrowingCache } from '../../../runtime/caches/growing-cache.ts'

/**
 * Hash states of uploads between their requests, so that no byte is hashed twice if one process receives them all. A hash state cannot
 * be stored. If it is missing, or another node continued the upload, the bytes are read again when the upload is finished.
 */
export interface UploadHashes {
  /** Removes and returns the hash of the first `size` bytes. */
  take(id: string, size: number): Hash | undefined
  put(id: string, size: number, hash: Hash): void
}

export function createUploadHashes(): UploadHashes {
  const cache = createGrowingCache<{ readonly size: number; readonly hash: Hash }>(limits.uploadHashesMax)
  return {
    take(id, size) {
      const known = cache.get(id)
      cache.delete(id)
      return known?.size === size ? known.hash : undefined
    },
    put: (id, size, hash) => void cache.set(id, { size, hash }),
  }
}
