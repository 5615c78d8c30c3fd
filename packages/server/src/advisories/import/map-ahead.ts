/** How far `mapAhead` is ahead of its consumer; it processes one item of any size. */
export interface AheadBounds<T> {
  readonly countMax: number
  readonly sizeMax: number
  readonly sizeOf: (item: T) => number
}

/**
 * Calls `work` for several items at a time, in their order, and yields the results in this order. After a failure, or when the consumer stops, no
 * further call is made, and those that were are awaited.
 */
export async function* mapAhead<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  { countMax, sizeMax, sizeOf }: AheadBounds<T>,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: { readonly result: Promise<R>; readonly size: number }[] = []
  let sizes = 0
  const first = () => {
    const { result, size } = running.shift() as (typeof running)[number]
    sizes -= size
    return result
  }
  try {
    for await (const item of items) {
      const size = sizeOf(item)
      while (running.length > 0 && (running.length >= countMax || sizes + size > sizeMax)) yield await first()
      const result = work(item)
      // Its turn to be awaited may come later, or never.
      result.catch(() => undefined)
      running.push({ result, size })
      sizes += size
    }
    while (running.length > 0) yield await first()
  } finally {
    await Promise.allSettled(running.map(({ result }) => result))
  }
}
