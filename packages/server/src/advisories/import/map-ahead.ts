/** Bounds of the items in progress. One item may exceed `sizeMax`. */
export interface AheadBounds<T> {
  readonly countMax: number
  readonly sizeMax: number
  readonly sizeOf: (item: T) => number
}

/**
 * Calls `work` for several items at a time, in their order, and yields the results in this order. After a failure of a call, no further one is made, and
 * those that were are awaited. When the source of the items fails, the results of earlier ones come first.
 */
export async function* mapAhead<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  { countMax, sizeMax, sizeOf }: AheadBounds<T>,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: { readonly result: Promise<R>; readonly size: number }[] = []
  let sizes = 0
  let hasFailed = false
  let sourceFailure: { readonly error: unknown } | undefined
  const first = () => {
    const { result, size } = running.shift() as (typeof running)[number]
    sizes -= size
    return result
  }
  const source = async function* () {
    try {
      yield* items
    } catch (error) {
      sourceFailure = { error }
    }
  }
  try {
    for await (const item of source()) {
      const size = sizeOf(item)
      while (running.length > 0 && (running.length >= countMax || sizes + size > sizeMax)) yield await first()
      if (hasFailed) break
      const result = work(item)
      result.catch(() => {
        hasFailed = true
      })
      running.push({ result, size })
      sizes += size
    }
    while (running.length > 0) yield await first()
  } finally {
    await Promise.allSettled(running.map(({ result }) => result))
  }
  if (sourceFailure !== undefined) throw sourceFailure.error
}
