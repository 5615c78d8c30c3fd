import { LRUCache } from 'lru-cache'

/**
 * Creates a cache of the `max` entries that were used last. It allocates memory as it grows, while an `LRUCache` with
 * `max` allocates about 22 bytes for each possible entry when it is created.
 */
export function createGrowingCache<V extends {}>(max: number): LRUCache<string, V> {
  return new LRUCache({ maxSize: max, sizeCalculation: () => 1 })
}
