import { limits } from '../../config/limits.ts'

/** Counts whole replies that their clients have not read yet, so that clients that do not read cannot fill the memory. */
export interface UnreadReplies {
  /**
   * Counts a reply of `bytes` until the returned function is called. Cuts off the replies that wait the longest if all of them hold too
   * much: a client that reads is never rejected because of those that do not.
   */
  add(bytes: number, cut: () => void): () => void
  readonly bytes: number
}

/** Replies of at most `bytesMax` bytes in all, and one that is larger. */
export function createUnreadReplies(bytesMax: number = limits.unreadReplyBytesMax): UnreadReplies {
  // In the order of their arrival.
  const waiting = new Map<object, { readonly bytes: number; readonly cut: () => void }>()
  let total = 0
  const remove = (key: object) => {
    const reply = waiting.get(key)
    if (reply === undefined) return undefined
    waiting.delete(key)
    total -= reply.bytes
    return reply
  }
  return {
    add(bytes, cut) {
      while (total > 0 && total + bytes > bytesMax) {
        const [oldest] = waiting.keys()
        if (oldest === undefined) break
        remove(oldest)?.cut()
      }
      const key = {}
      waiting.set(key, { bytes, cut })
      total += bytes
      return () => void remove(key)
    },
    get bytes() {
      return total
    },
  }
}
