import { randomBytes } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { limits } from '../../core/limits.ts'
import { makePrivateDirectory } from '../../storage/db.ts'

/**
 * The files that feeds are kept in, by what they were made of: a feed that changed has another name. Of those that nobody asks for
 * the oldest go, when there are too many or they take too much room. What was made before a restart still counts.
 */

/** One feed. */
export interface StoredFeed {
  readonly file: string
  readonly bytes: number
  /** The same compressed (gzip), where there is that. */
  readonly compressed: { readonly file: string; readonly bytes: number } | undefined
}

export interface FeedFiles {
  find(name: string): Promise<StoredFeed | undefined>
  /** Names for files that are not whole yet. */
  drafts(name: string, hasCompressed: boolean): Promise<Drafts>
  /** Puts drafts in their places, and makes room for them. */
  keep(name: string, drafts: Drafts): Promise<void>
}

export interface Drafts {
  readonly file: string
  readonly compressed: string | undefined
}

export interface FeedFilesOptions {
  readonly directory: string
  readonly clock: () => number
  readonly filesMax?: number
  readonly bytesMax?: number
}

const COMPRESSED = '.gz'
const DRAFT = '.part'

interface Known {
  readonly bytes: number
  usedMs: number
}

export function feedFiles({
  directory,
  clock,
  filesMax = limits.feedFilesMax,
  bytesMax = limits.feedBytesMax,
}: FeedFilesOptions): FeedFiles {
  /** In the order of use, by name. */
  let known: Promise<Map<string, Known>> | undefined
  const index = () => {
    known ??= readIndex().catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }

  async function readIndex(): Promise<Map<string, Known>> {
    makePrivateDirectory(directory)
    const found = new Map<string, Known>()
    const now = clock()
    for (const name of await readdir(directory)) {
      const path = join(directory, name)
      const facts = await stat(path).catch(() => undefined)
      if (facts === undefined) continue
      if (name.endsWith(DRAFT)) {
        // Of a process that ended: none works on one for so long.
        if (facts.mtimeMs < now - 2 * limits.feedMakingMsMax) await rm(path, { force: true })
        continue
      }
      const feed = name.endsWith(COMPRESSED) ? name.slice(0, -COMPRESSED.length) : name
      const before = found.get(feed)
      found.set(feed, {
        bytes: (before?.bytes ?? 0) + facts.size,
        usedMs: Math.max(before?.usedMs ?? 0, facts.mtimeMs),
      })
    }
    return new Map([...found].sort(([, a], [, b]) => a.usedMs - b.usedMs))
  }

  async function makeRoom(feeds: Map<string, Known>, newest: string): Promise<void> {
    let bytes = [...feeds.values()].reduce((sum, feed) => sum + feed.bytes, 0)
    const oldestMs = clock() - limits.feedIdleMsMax
    for (const [name, feed] of [...feeds]) {
      const fits = feeds.size <= filesMax && bytes <= bytesMax && feed.usedMs >= oldestMs
      if (fits || name === newest) continue
      feeds.delete(name)
      bytes -= feed.bytes
      // Whoever reads it now goes on reading.
      await rm(join(directory, name), { force: true })
      await rm(join(directory, name + COMPRESSED), { force: true })
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
      const packed = await stat(file + COMPRESSED).catch(() => undefined)
      feeds.delete(name)
      feeds.set(name, { bytes: plain.size + (packed?.size ?? 0), usedMs: clock() })
      return {
        file,
        bytes: plain.size,
        compressed: packed && { file: file + COMPRESSED, bytes: packed.size },
      }
    },

    async drafts(name, hasCompressed) {
      await index()
      const file = join(directory, `${name}.${randomBytes(6).toString('hex')}`)
      const drafts = {
        file: file + DRAFT,
        compressed: hasCompressed ? file + COMPRESSED + DRAFT : undefined,
      }
      // They are there from now on, so that they can be followed while they grow.
      for (const path of [drafts.file, drafts.compressed])
        if (path !== undefined) await (await open(path, 'wx', 0o600)).close()
      return drafts
    },

    async keep(name, { file, compressed }) {
      const feeds = await index()
      // The plain one last: by that it is found.
      if (compressed !== undefined) await rename(compressed, join(directory, name + COMPRESSED))
      await rename(file, join(directory, name))
      const sizes = await Promise.all(
        [name, name + COMPRESSED].map((path) =>
          stat(join(directory, path)).then(
            ({ size }) => size,
            () => 0,
          ),
        ),
      )
      feeds.delete(name)
      feeds.set(name, { bytes: sizes.reduce((sum, size) => sum + size, 0), usedMs: clock() })
      await makeRoom(feeds, name)
    },
  }
}
