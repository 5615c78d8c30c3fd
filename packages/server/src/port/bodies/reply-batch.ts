import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Whole replies that are sent together at the end of an iteration of the event loop, or when there are `replyBatchMax`. An iteration reads
 * the requests of many connections: if each reply were sent alone, it would wake a client on the same machine, which costs the server about
 * a quarter of a Get (ADR 98).
 */
export interface ReplyBatch {
  /** Sends a reply now or at the end of this iteration. */
  add(send: () => void): void
  /** Sends the batch if it is older than `replyBatchMs`: the next request of the iteration may take long. */
  sendIfOld(): void
}

export function createReplyBatch({
  replyBatchMax,
  replyBatchMs,
}: Readonly<Record<'replyBatchMax' | 'replyBatchMs', number>>): ReplyBatch {
  let batch: (() => void)[] = []
  let startedMs = 0
  // Bound, because a batch must not run in the context of one of its requests.
  const flush = AsyncLocalStorage.bind(() => {
    const replies = batch
    batch = []
    for (const send of replies) send()
  })
  return {
    add(send) {
      if (batch.push(send) === 1) {
        startedMs = performance.now()
        setImmediate(flush)
      }
      if (batch.length >= replyBatchMax) flush()
    },
    sendIfOld() {
      if (batch.length > 0 && performance.now() - startedMs > replyBatchMs) flush()
    },
  }
}
