import { failedPrecondition } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db } from '../../storage/db.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { ImageConfiguration, ImageManifest, ManifestDescriptor, Platform } from './image-json.ts'

/** Reads images from the manifests of a repo, which were validated when they were pushed. */

/** Reads manifests and configurations; large ones off the event loop. Undefined as in image-json.ts. */
export interface ImageReader {
  image(root: string, bytes: Uint8Array): Promise<ImageManifest | undefined>
  config(root: string, bytes: Uint8Array): Promise<ImageConfiguration | undefined>
}

/** One request about an image: its repo, and how much it may still read. */
export interface ImageLookup {
  readonly repo: string
  manifest(digest: string): Promise<ImageManifest | undefined>
  config(descriptor: ManifestDescriptor): Promise<ImageConfiguration | undefined>
}

/** Throws code 9 when an image needs more manifests or bytes than one request may read. */
export function createImageLookup(db: Db, blobs: BlobStore, reader: ImageReader, repo: string): ImageLookup {
  const root = rootOf(repo)
  let [count, bytes] = [0, 0]
  const countRead = (size: number) => {
    count += 1
    bytes += size
    if (count <= limits.imageManifestsMax && bytes <= limits.imageBytesMax) return
    throw failedPrecondition(
      'IMAGE_TOO_LARGE',
      `the image has more than ${limits.imageManifestsMax} manifests and configurations, or they have more than ${limits.imageBytesMax} bytes; request one of its manifests instead`,
      repo,
    )
  }
  return {
    repo,
    async manifest(digest) {
      await yieldToEventLoop()
      const content = await manifestContent(db, repo, digest)
      if (content === undefined) return undefined
      countRead(content.length)
      return reader.image(root, content)
    },
    async config({ digest, size }) {
      if (size > limits.imageConfigBytesMax) return undefined
      countRead(size)
      await yieldToEventLoop()
      const content = await blobContent(db, blobs, repo, { digest, size })
      return content && reader.config(root, content)
    },
  }
}

async function manifestContent(
  { kysely }: Db,
  repo: string,
  digest: string,
): Promise<Uint8Array | undefined> {
  const row = await kysely
    .selectFrom('manifests')
    .select('content')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .executeTakeFirst()
  return row?.content
}

/** Returns undefined for content that is not in the repo. */
async function blobContent(
  { kysely }: Db,
  blobs: BlobStore,
  repo: string,
  { digest, size }: ManifestDescriptor,
): Promise<Uint8Array | undefined> {
  const blob = await kysely
    .selectFrom('repo_blobs as link')
    .innerJoin('blobs', 'blobs.digest', 'link.digest')
    .select('blobs.location')
    .where('link.root', '=', rootOf(repo))
    .where('link.repo', '=', repo)
    .where('link.digest', '=', digest)
    .executeTakeFirst()
  if (blob === undefined) return undefined
  const pieces: Uint8Array[] = []
  for await (const piece of blobs.read(blob.location, { start: 0, end: size }))
    pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

export interface Image extends Platform {
  readonly manifest: ImageManifest
}

/**
 * Returns the images of a manifest: itself, or those of an index in its order, including nested ones. Entries of an index that are not
 * in the repo are skipped.
 */
export async function* listImages(
  lookup: ImageLookup,
  digest: string,
  seen = new Set<string>(),
  platform?: Platform,
): AsyncGenerator<Image> {
  if (seen.has(digest)) return
  seen.add(digest)
  const manifest = await lookup.manifest(digest)
  if (manifest === undefined) return
  if (manifest.manifests === undefined) {
    const { config } = manifest
    const known = platform ?? (config && (await lookup.config(config)))
    yield { architecture: known?.architecture, manifest }
    return
  }
  for (const child of manifest.manifests) yield* listImages(lookup, child.digest, seen, child.platform)
}

/** Returns the compressed size of the configuration and the layers. */
export function imageSize({ config, layersSize }: ImageManifest): number {
  return layersSize + (config?.size ?? 0)
}
