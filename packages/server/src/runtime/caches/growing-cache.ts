import { LRUCache } from 'lru-cache'

/** Bounds the sizes of all values together. */
interface SizeBound<V> {
  readonly sizeMax: number
  readonly sizeOf: (value: V, key: string) => number
}

/**
 * Creates a cache of at most `max` entries, of which it keeps those that were used last. It allocates memory as it grows, while an `LRUCache` with
 * `max` allocates about 23 bytes for each possible entry when it is created. With a bound of the sizes, a small entry counts as
 * `sizeMax / max`, so beside large entries fewer fit. An entry that is larger than the bound is not stored.
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
