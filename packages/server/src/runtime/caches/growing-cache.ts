import { LRUCache } from 'lru-cache'

/** Bounds the sizes of all values together. */
interface SizeBound<V> {
  readonly sizeMax: number
  readonly sizeOf: (value: V, key: string) => number
}

/**
 * Creates a cache of the `max` entries that were used last. It allocates memory as it grows, while an `LRUCache` with
 * `max` allocates about 48 bytes for each possible entry when it is created.
 */
export function createGrowingCache<V extends {}>(max: number, bound?: SizeBound<V>): LRUCache<string, V> {
  if (bound === undefined) return new LRUCache({ maxSize: max, sizeCalculation: () => 1 })
  const { sizeMax, sizeOf } = bound
  // No more than `max` entries of the least size fit.
  const sizeMin = Math.ceil(sizeMax / max)
  return new LRUCache({
    maxSize: sizeMax,
    sizeCalculation: (value, key) => Math.max(sizeMin, sizeOf(value, key)),
  })
}
