import { randomBytes } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { limits } from '../../config/limits.ts'
import { makePrivateDirectory } from '../../storage/db.ts'

/**
 * The files that feeds are kept in, by what they were made of: a feed that changed has another name. Of those that nobody asks for
 * the oldest go, when there are too many or they take too much room. What was made before a restart still counts.
 */

/** One feed. */
export interface CachedFeed {
  readonly file: string
  readonly bytes: number
  /** The same compressed (gzip), where there is that. */
  readonly compressed: { readonly file: string; readonly bytes: number } | undefined
}

export interface FeedCache {
  find(name: string): Promise<CachedFeed | undefined>
  /** Names for files that are not whole yet. */
  createDrafts(name: string, hasCompressed: boolean): Promise<Drafts>
  /** Puts drafts in their places, and makes room for them. */
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
  /** In the order of use, by name. */
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
        // Of a process that ended: none works on one for so long.
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
    return new Map([...found].sort(([, a], [, b]) => a.usedMs - b.usedMs))
  }

  async function evict(feeds: Map<string, CacheEntry>, newest: string): Promise<void> {
    let bytes = [...feeds.values()].reduce((sum, feed) => sum + feed.bytes, 0)
    const oldestMs = clock() - limits.feedIdleMsMax
    for (const [name, feed] of [...feeds]) {
      const fits = feeds.size <= filesMax && bytes <= bytesMax && feed.usedMs >= oldestMs
      if (fits || name === newest) continue
      feeds.delete(name)
      bytes -= feed.bytes
      // Whoever reads it now goes on reading.
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
      feeds.delete(name)
      feeds.set(name, { bytes: plain.size + (compressedStats?.size ?? 0), usedMs: clock() })
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
      // They are there from now on, so that they can be followed while they grow.
      for (const path of [drafts.file, drafts.compressed])
        if (path !== undefined) await (await open(path, 'wx', 0o600)).close()
      return drafts
    },

    async commit(name, { file, compressed }) {
      const feeds = await index()
      // The plain one last: by that it is found.
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
      feeds.delete(name)
      feeds.set(name, { bytes: sizes.reduce((sum, size) => sum + size, 0), usedMs: clock() })
      await evict(feeds, name)
    },
  }
}
