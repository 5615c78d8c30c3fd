import { LRUCache } from 'lru-cache'

export interface GrowingCacheOptions<V> {
  /** Of all values together; without it, only their number is bounded. */
  readonly sizeMax?: number
  readonly sizeOf?: (value: V, key: string) => number
  /** Called when a value leaves the cache. */
  readonly dispose?: (value: V, key: string) => void
}

/**
 * Creates a cache of at most `max` entries, of which it keeps those that were used last. It allocates memory as it grows, while an `LRUCache` with
 * `max` allocates about 23 bytes for each possible entry when it is created. With a bound of the sizes, a small entry counts as
 * `sizeMax / max`, so beside large entries fewer fit. An entry that is larger than the bound is not stored.
 */
export function createGrowingCache<V extends {}>(
  max: number,
  { sizeMax = max, sizeOf = () => 1, dispose }: GrowingCacheOptions<V> = {},
): LRUCache<string, V> {
  // No more than `max` entries of the least size fit.
  const sizeMin = Math.ceil(sizeMax / max)
  return new LRUCache<string, V>({
    maxSize: sizeMax,
    sizeCalculation: (value, key) => Math.max(sizeMin, sizeOf(value, key)),
    ...(dispose && { dispose }),
  })
}
