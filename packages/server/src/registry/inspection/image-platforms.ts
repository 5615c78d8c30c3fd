import { limits } from '../../config/limits.ts'
import { createGrowingCache } from '../../runtime/caches/growing-cache.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db } from '../../storage/db.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { parseObject } from '../manifests/image-json.ts'
import { type ContentDescriptor, platformOf } from '../manifests/manifest-content.ts'
import { readSmallBlobs } from './small-blobs.ts'

/** Returns the platforms of images by the digests of their configurations; '' for one that is not known. */
export type ReadPlatforms = (
  repo: string,
  configs: readonly ContentDescriptor[],
) => Promise<ReadonlyMap<string, string>>

/** Platforms are cached: the content of a digest never changes. Callers read the digest from a manifest that they may see. */
export function createPlatformReader(db: Db, blobs: Pick<BlobStore, 'read'>): ReadPlatforms {
  const cache = createGrowingCache<string>(limits.platformsCachedMax)
  return async (repo, configs) => {
    const platforms = new Map<string, string>()
    const missing: ContentDescriptor[] = []
    for (const config of configs) {
      const known = cache.get(config.digest)
      if (known !== undefined) platforms.set(config.digest, known)
      else if (config.size <= limits.listedConfigBytesMax) missing.push(config)
    }
    for (const [digest, content] of await readSmallBlobs(db, blobs, repo, missing)) {
      await yieldToEventLoop()
      const { manifestDepthMax: depthMax, imageConfigElementsMax: elementsMax } = limits
      const parsed = parseObject(content, { depthMax, elementsMax })
      const platform = parsed === undefined ? '' : platformOf(parsed)
      cache.set(digest, platform)
      platforms.set(digest, platform)
    }
    return platforms
  }
}
