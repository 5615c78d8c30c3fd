import type { BlobStore } from '../blobs/store.ts'
import { limits } from '../core/limits.ts'
import { rootOf } from '../core/uid.ts'
import type { Db } from '../storage/db.ts'

/** What the manifests of a repo say of images. They were checked when they were pushed. */

export interface ImageManifest {
  readonly config?: ManifestDescriptor
  readonly layers?: readonly ManifestDescriptor[]
  /** Of an index. */
  readonly manifests?: readonly ManifestDescriptor[]
}

export interface ManifestDescriptor {
  readonly digest: string
  readonly size: number
  readonly platform?: Platform
}

interface Platform {
  readonly architecture?: unknown
  readonly variant?: unknown
}

export async function readManifest(
  { kysely }: Db,
  repo: string,
  digest: string,
): Promise<ImageManifest | undefined> {
  const row = await kysely
    .selectFrom('manifests')
    .select('content')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .executeTakeFirst()
  return row && (JSON.parse(Buffer.from(row.content).toString('utf8')) as ImageManifest)
}

/** `amd64`, or `arm/v7`; undefined for what has none, such as an attestation. */
function architectureOf({ architecture, variant }: Platform): string | undefined {
  if (typeof architecture !== 'string' || architecture === '' || architecture === 'unknown') return undefined
  return typeof variant === 'string' && variant !== '' ? `${architecture}/${variant}` : architecture
}

/** Of an image, as its configuration has it. */
async function configuredArchitecture(
  db: Db,
  blobs: BlobStore,
  repo: string,
  config: ManifestDescriptor,
): Promise<string | undefined> {
  const read = await readConfiguration(db, blobs, repo, config)
  return read && architectureOf(read)
}

/** A JSON object; undefined for what is none, or not in the repo, as that of an artifact may be. */
export async function readConfiguration(
  { kysely }: Db,
  blobs: BlobStore,
  repo: string,
  { digest, size }: ManifestDescriptor,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (size > limits.imageConfigBytesMax) return undefined
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
  try {
    const value: unknown = JSON.parse(Buffer.concat(pieces).toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

export interface Image {
  readonly architecture: string | undefined
  readonly manifest: ImageManifest
}

/**
 * The images that a manifest stands for: itself, or those of an index, in its order, nested ones too. What an index names and the repo
 * does not have any more is left out.
 */
export async function* imagesOf(
  db: Db,
  blobs: BlobStore,
  repo: string,
  digest: string,
  seen = new Set<string>(),
  platform?: Platform,
): AsyncGenerator<Image> {
  if (seen.has(digest)) return
  seen.add(digest)
  const manifest = await readManifest(db, repo, digest)
  if (manifest === undefined) return
  if (manifest.manifests === undefined) {
    const architecture =
      platform === undefined
        ? manifest.config && (await configuredArchitecture(db, blobs, repo, manifest.config))
        : architectureOf(platform)
    yield { architecture, manifest }
    return
  }
  for (const child of manifest.manifests) yield* imagesOf(db, blobs, repo, child.digest, seen, child.platform)
}

/** Bytes of the configuration and the layers, as they are transferred. */
export function sizeOf({ config, layers = [] }: ImageManifest): number {
  return layers.reduce((sum, { size }) => sum + size, config?.size ?? 0)
}
