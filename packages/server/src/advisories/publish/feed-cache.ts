import { randomBytes } from 'node:crypto'
import { open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { limits } from '../../config/limits.ts'
import { makePrivateDirectory } from '../../storage/db.ts'

/**
 * A cache of published feeds as files, named by their inputs: a feed with changes has another name. The least recently used are deleted
 * when there are too many or they use too much space. Files from before a restart remain valid. Several processes can share a directory:
 * the time of a file says when any of them used it.
 */

/** One cached feed. */
export interface CachedFeed {
  readonly file: string
  readonly bytes: number
  /** The same content compressed (gzip), if available. */
  readonly compressed: { readonly file: string; readonly bytes: number } | undefined
}

export interface FeedCache {
  find(name: string): Promise<CachedFeed | undefined>
  /** Creates temporary files. */
  createDrafts(name: string, hasCompressed: boolean): Promise<Drafts>
  /** Moves temporary files to their final names and evicts others as needed. */
  commit(name: string, createDrafts: Drafts): Promise<void>
}

export interface Drafts {
  readonly file: string
  readonly compressed: string | undefined
}

export interface FeedCacheOptions {
  readonly directory: string
  readonly clock: () => number
  readonly filesMax?: number
  readonly bytesMax?: number
}

const COMPRESSED_SUFFIX = '.gz'
const DRAFT_SUFFIX = '.part'
/** A use is recorded for other processes if the last record is older. */
const USE_RECORDED_MS = 60_000

interface CacheEntry {
  readonly bytes: number
  usedMs: number
}

export function createFeedCache({
  directory,
  clock,
  filesMax = limits.feedFilesMax,
  bytesMax = limits.feedBytesMax,
}: FeedCacheOptions): FeedCache {
  /** By name. */
  let entries: Promise<Map<string, CacheEntry>> | undefined
  const index = () => {
    entries ??= readIndex().catch((error: unknown) => {
      entries = undefined
      throw error
    })
    return entries
  }

  async function readIndex(): Promise<Map<string, CacheEntry>> {
    makePrivateDirectory(directory)
    const found = new Map<string, CacheEntry>()
    const now = clock()
    for (const name of await readdir(directory)) {
      const path = join(directory, name)
      const stats = await stat(path).catch(() => undefined)
      if (stats === undefined) continue
      if (name.endsWith(DRAFT_SUFFIX)) {
        // Left by a process that ended: no build takes this long.
        if (stats.mtimeMs < now - 2 * limits.feedBuildMsMax) await rm(path, { force: true })
        continue
      }
      const feed = name.endsWith(COMPRESSED_SUFFIX) ? name.slice(0, -COMPRESSED_SUFFIX.length) : name
      const before = found.get(feed)
      found.set(feed, {
        bytes: (before?.bytes ?? 0) + stats.size,
        usedMs: Math.max(before?.usedMs ?? 0, stats.mtimeMs),
      })
    }
    return found
  }

  /** Adds files of other processes, and removes those that they deleted. */
  async function refresh(feeds: Map<string, CacheEntry>): Promise<void> {
    const found = await readIndex()
    for (const name of feeds.keys()) if (!found.has(name)) feeds.delete(name)
    for (const [name, { bytes, usedMs }] of found)
      feeds.set(name, { bytes, usedMs: Math.max(usedMs, feeds.get(name)?.usedMs ?? 0) })
  }

  async function evict(feeds: Map<string, CacheEntry>, newest: string): Promise<void> {
    let bytes = [...feeds.values()].reduce((sum, feed) => sum + feed.bytes, 0)
    const oldestMs = clock() - limits.feedIdleMsMax
    for (const [name, feed] of [...feeds].sort(([, a], [, b]) => a.usedMs - b.usedMs)) {
      const fits = feeds.size <= filesMax && bytes <= bytesMax && feed.usedMs >= oldestMs
      if (fits || name === newest) continue
      feeds.delete(name)
      bytes -= feed.bytes
      // Open readers can continue to read it.
      await rm(join(directory, name), { force: true })
      await rm(join(directory, name + COMPRESSED_SUFFIX), { force: true })
    }
  }

  return {
    async find(name) {
      const feeds = await index()
      const file = join(directory, name)
      const plain = await stat(file).catch(() => undefined)
      if (plain === undefined) {
        feeds.delete(name)
        return undefined
      }
      const compressedStats = await stat(file + COMPRESSED_SUFFIX).catch(() => undefined)
      const now = clock()
      feeds.set(name, { bytes: plain.size + (compressedStats?.size ?? 0), usedMs: now })
      // If another process deletes the file meanwhile, its readers have it open.
      if (plain.mtimeMs < now - USE_RECORDED_MS) await utimes(file, now / 1000, now / 1000).catch(() => {})
      return {
        file,
        bytes: plain.size,
        compressed: compressedStats && { file: file + COMPRESSED_SUFFIX, bytes: compressedStats.size },
      }
    },

    async createDrafts(name, hasCompressed) {
      await index()
      const file = join(directory, `${name}.${randomBytes(6).toString('hex')}`)
      const drafts = {
        file: file + DRAFT_SUFFIX,
        compressed: hasCompressed ? file + COMPRESSED_SUFFIX + DRAFT_SUFFIX : undefined,
      }
      // Create them now, so that they can be read while they grow.
      for (const path of [drafts.file, drafts.compressed])
        if (path !== undefined) await (await open(path, 'wx', 0o600)).close()
      return drafts
    },

    async commit(name, { file, compressed }) {
      const feeds = await index()
      // The uncompressed file last: its existence marks the entry as complete.
      if (compressed !== undefined) await rename(compressed, join(directory, name + COMPRESSED_SUFFIX))
      await rename(file, join(directory, name))
      const sizes = await Promise.all(
        [name, name + COMPRESSED_SUFFIX].map((path) =>
          stat(join(directory, path)).then(
            ({ size }) => size,
            () => 0,
          ),
        ),
      )
      await refresh(feeds)
      feeds.set(name, { bytes: sizes.reduce((sum, size) => sum + size, 0), usedMs: clock() })
      await evict(feeds, name)
    },
  }
}
