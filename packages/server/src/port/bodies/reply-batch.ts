import { AsyncLocalStorage } from 'node:async_hooks'

/** Sends a whole reply now or at the end of this turn of the event loop. */
export type ReplyBatch = (send: () => void) => void

/**
 * Replies that leave together at the end of a turn of the event loop, or when there are `repliesMax`. A turn reads the requests of many
 * connections: if each reply left alone, it would wake a client on the same machine, which costs the server a third of a Get (ADR 98).
 */
export function createReplyBatch(repliesMax: number): ReplyBatch {
  let batch: (() => void)[] = []
  // Bound, because a batch must not run in the context of one of its requests.
  const flush = AsyncLocalStorage.bind(() => {
    const replies = batch
    batch = []
    for (const send of replies) send()
  })
  return (send) => {
    batch.push(send)
    if (batch.length >= repliesMax) flush()
    else if (batch.length === 1) setImmediate(flush)
  }
}
