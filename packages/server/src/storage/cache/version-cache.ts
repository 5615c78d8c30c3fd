import { LRUCache } from 'lru-cache'
import { whenReady } from '../../runtime/when-ready.ts'
import type { Db } from '../db.ts'

export interface VersionCacheLimits<V> {
  /** Entries, at most. */
  readonly max: number
  /** What all entries may hold, as `sizeOf` counts it. */
  readonly maxSize: number
  readonly sizeOf: (value: V, key: string) => number
  /** A value is stored when it is read for the second time between two writes; `roughSizeOf` must cost little. By default, all values are stored. */
  readonly onlyRepeated?: { readonly roughSizeOf: (value: V) => number }
  /** Receives each value that is stored. */
  readonly onStore?: (value: V) => void
}

/** Returns what was read under `key`, or reads it; without waiting if `read` does not wait. */
export type VersionCache<V> = (db: Db, key: string, read: () => V | Promise<V>) => V | Promise<V>

/**
 * Creates a cache of what is read from a database: a value is reused until the database is written to, by any process. Nothing is cached where
 * `Db.version` does not report that.
 */
export function createVersionCache<V>({
  max,
  maxSize,
  sizeOf,
  onlyRepeated,
  onStore,
}: VersionCacheLimits<V>): VersionCache<V> {
  interface Entry {
    readonly version: number
    readonly value: V
  }
  const repetitions = onlyRepeated && createRepetitionFilter(maxSize, onlyRepeated.roughSizeOf)
  const caches = new WeakMap<Db, LRUCache<string, Entry>>()
  const cacheOf = (db: Db) => {
    let cache = caches.get(db)
    if (cache === undefined) {
      cache = new LRUCache({ max, maxSize })
      caches.set(db, cache)
    }
    return cache
  }
  return (db, key, read) => {
    // Read before the query: a concurrent write then invalidates the result.
    const version = db.version('any')
    if (version === undefined) return read()
    const hash = repetitions === undefined ? 0 : hashOf(key, version)
    if (repetitions?.has(hash) === false)
      return whenReady(read(), (value) => {
        repetitions.add(hash, value)
        return value
      })
    const cache = cacheOf(db)
    const known = cache.get(key)
    if (known?.version === version) return known.value
    return whenReady(read(), (value) => {
      // A write during the read has made it invalid.
      if (db.version('any') !== version) return value
      cache.set(key, { version, value }, { size: sizeOf(value, key) })
      onStore?.(value)
      return value
    })
  }
}

const SLOTS = 2 ** 16

/**
 * Remembers what was read, as hashes of keys and versions. It forgets all of them when the sizes of the values add up to `sizeMax`, because a cache
 * of that size would not have kept the first ones either. Hashes collide, so it may forget a key, or take it for another one. The keys are not
 * stored: the garbage collector would have to copy them, which costs more than most reads.
 */
function createRepetitionFilter<V>(sizeMax: number, sizeOf: (value: V) => number) {
  const hashes = new Int32Array(SLOTS)
  let sum = 0
  return {
    has: (hash: number) => hashes[hash & (SLOTS - 1)] === hash,
    add(hash: number, value: V): void {
      const size = sizeOf(value)
      sum += size
      if (sum > sizeMax) {
        hashes.fill(0)
        sum = size
      }
      hashes[hash & (SLOTS - 1)] = hash
    },
  }
}

function hashOf(text: string, seed: number): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0
  return hash
}
