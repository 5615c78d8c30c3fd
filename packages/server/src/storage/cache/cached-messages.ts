import type { Message } from '@bufbuild/protobuf'
import { limits } from '../../config/limits.ts'
import { keepEncodings } from '../../runtime/caches/kept-encodings.ts'
import { createVersionCache } from './version-cache.ts'

/** A message, and what it takes in memory with its encodings. */
export interface SizedMessage {
  readonly message: Message
  readonly bytes: number
}

const CACHED_MESSAGES_MAX = 10_000

/**
 * Returns the message that was read under a key, or reads it. A message that is read again is kept with its encodings until the database is
 * written to, so it must not be changed; see `Db.version`.
 */
export const cachedMessage = createVersionCache<SizedMessage>({
  max: CACHED_MESSAGES_MAX,
  maxSize: limits.cachedMessagesBytesMax,
  sizeOf: ({ bytes }, key) => key.length + bytes,
  // Storing what is read only once costs a tenth of a read.
  stores: 'repeated',
  onStore: ({ message }) => keepEncodings(message),
})

// Measured with groups: 2.0 KB for one, 0.8 to 1.1 KB for each in a list, with 174 characters of text.
const BYTES_PER_MESSAGE = 768
const BYTES_PER_ROW = 640
/** A text is in the message, in JSON and in protobuf. */
const TEXT_COPIES = 3

export function withSize(message: Message, rows: readonly object[]): SizedMessage {
  return { message, bytes: BYTES_PER_MESSAGE + rows.length * BYTES_PER_ROW + TEXT_COPIES * textsOf(rows) }
}

/** Returns how many characters and bytes are in long values. */
function textsOf(rows: readonly object[]): number {
  let size = 0
  for (const row of rows)
    for (const name in row) {
      const value: unknown = (row as Record<string, unknown>)[name]
      if (typeof value === 'string' || value instanceof Uint8Array) size += value.length
    }
  return size
}
