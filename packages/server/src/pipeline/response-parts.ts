import type { Message } from '@bufbuild/protobuf'

/**
 * Answers that are made in parts: a list of everything there is may be longer than ought to be held at once. Each part is a whole
 * message with some of the `items`, and knows how to ask for the one behind it; what nobody asks for is never made.
 */

/** An answer that is all one list. */
export type ItemsResponse = Message & { items: Message[] }

const nextParts = new WeakMap<Message, () => Promise<Message>>()

/** The part itself, now with another behind it. */
export function withNextPart<T extends ItemsResponse>(part: T, next: () => Promise<T>): T {
  nextParts.set(part, next)
  return part
}

/** Makes the part behind this one; undefined behind the last, and behind answers that have no parts. */
export function nextPart(part: Message): (() => Promise<ItemsResponse>) | undefined {
  return nextParts.get(part) as (() => Promise<ItemsResponse>) | undefined
}

/** All parts as one answer. Others have their turn between two of them; an aborted signal ends it with its reason. */
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
