import type { Message } from '@bufbuild/protobuf'

/**
 * Responses in parts, for lists that are too long for memory. Each part is a whole message with some of the `items`, and can read the
 * next part; parts that are not requested are not read.
 */

/** A response that consists of one list. */
export type ItemsResponse = Message & { items: Message[] }

const nextParts = new WeakMap<Message, () => Promise<Message>>()

/** Adds a next part to a part. Returns the part. */
export function withNextPart<T extends ItemsResponse>(part: T, next: () => Promise<T>): T {
  nextParts.set(part, next)
  return part
}

/** Returns the function that reads the next part; undefined after the last one, and for responses without parts. */
export function nextPart(part: Message): (() => Promise<ItemsResponse>) | undefined {
  return nextParts.get(part) as (() => Promise<ItemsResponse>) | undefined
}

/** Joins all parts. Yields to the event loop between two parts; fails with the reason of an aborted signal. */
export async function joinParts(first: Message, getSignal: () => AbortSignal | undefined): Promise<Message> {
  let next = nextPart(first)
  if (next === undefined) return first
  const signal = getSignal()
  const items = [...(first as ItemsResponse).items]
  while (next !== undefined) {
    await new Promise((resolve) => setImmediate(resolve))
    signal?.throwIfAborted()
    const part: ItemsResponse = await next()
    for (const item of part.items) items.push(item)
    next = nextPart(part)
  }
  return { ...first, items } as ItemsResponse
}
