import { LRUCache } from 'lru-cache'
import type { Db } from '../db.ts'

export interface VersionCacheLimits<V> {
  /** Entries, at most. */
  readonly max: number
  /** What all entries may hold, as `sizeOf` counts it. */
  readonly maxSize: number
  readonly sizeOf: (value: V, key: string) => number
}

/** Returns what was read under `key`, or reads it; without waiting if `read` does not wait. */
export type VersionCache<V> = (db: Db, key: string, read: () => V | Promise<V>) => V | Promise<V>

/**
 * Creates a cache of what is read from a database: a value is reused until the database is written to, by any process. Nothing is cached where
 * `Db.version` does not report that.
 */
export function createVersionCache<V>({ max, maxSize, sizeOf }: VersionCacheLimits<V>): VersionCache<V> {
  interface Entry {
    readonly version: number
    readonly value: V
  }
  const caches = new WeakMap<Db, LRUCache<string, Entry>>()
  const cacheOf = (db: Db) => {
    let cache = caches.get(db)
    if (cache === undefined) {
      cache = new LRUCache({ max, maxSize, sizeCalculation: ({ value }, key) => sizeOf(value, key) })
      caches.set(db, cache)
    }
    return cache
  }
  return (db, key, read) => {
    // Read before the query: a concurrent write then invalidates the result.
    const version = db.version('any')
    if (version === undefined) return read()
    const cache = cacheOf(db)
    const known = cache.get(key)
    if (known?.version === version) return known.value
    const add = (value: V) => {
      cache.set(key, { version, value })
      return value
    }
    const value = read()
    return value instanceof Promise ? value.then(add) : add(value)
  }
}
