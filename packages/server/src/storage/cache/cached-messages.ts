import type { Message } from '@bufbuild/protobuf'
import { limits } from '../../config/limits.ts'
import { storeEncodings } from '../../runtime/caches/stored-encodings.ts'
import { sizeOfMessage } from './message-size.ts'
import { createVersionCache } from './version-cache.ts'

/** A message that was read, and how many rows it was made of. */
export interface ReadMessage {
  readonly message: Message
  readonly rows: number
}

const CACHED_MESSAGES_MAX = 10_000
/** With the HTTP reply that is made of the message. */
const BYTES_PER_ENTRY = 768
const ROUGH_BYTES_PER_ROW = 2048

/**
 * Returns the message that was read under a key, or reads it. A message that is read again is stored with its encodings until the database is
 * written to, so it must not be changed; see `Db.version`.
 */
export const cachedMessage = createVersionCache<ReadMessage>({
  max: CACHED_MESSAGES_MAX,
  maxSize: limits.cachedMessagesBytesMax,
  sizeOf: ({ message }, key) => BYTES_PER_ENTRY + 2 * key.length + sizeOfMessage(message),
  // Storing what is read only once would make it up to 1.3 times as expensive.
  onlyRepeated: { roughSizeOf: ({ rows }) => rows * ROUGH_BYTES_PER_ROW },
  onStore: ({ message }) => storeEncodings(message),
})
