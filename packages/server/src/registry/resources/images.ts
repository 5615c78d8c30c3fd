import { ImagesService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/images_pb.js'
import { type FieldViolation, notFound } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { limits } from '../../config/limits.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import type { Db } from '../../storage/db.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { ImageManifest } from '../manifests/image-json.ts'
import {
  createImageLookup,
  type Image,
  type ImageLookup,
  type ImageReader,
  imageSize,
  listImages,
} from '../manifests/image-manifests.ts'
import { MANIFEST_TYPE, REPO_TYPE } from './parent-repo.ts'
import { checkDigest } from './tag-names.ts'

/** Methods that read manifests and configurations of images. */

const DEFAULT_ARCHITECTURE = 'amd64'

interface ImageSource {
  readonly db: Db
  readonly blobs: BlobStore
  readonly reader: ImageReader
}

/** Throws code 5 for a missing repo or manifest, and code 3 for an invalid field. */
async function requireManifest(
  { db, blobs, reader }: ImageSource,
  call: Call,
  digest: string,
  ...checks: (FieldViolation | undefined)[]
): Promise<{ readonly question: ImageLookup; readonly manifest: ImageManifest }> {
  const { scope } = requireScope(call)
  if ((await readResource(db, 'repos', scope)) === undefined) throw notFound(REPO_TYPE, scope)
  requireValid(checkDigest(digest), ...checks)
  const manifest = await createImageLookup(db, blobs, reader, scope).manifest(digest)
  if (manifest === undefined) throw notFound(MANIFEST_TYPE, digest)
  return { question: createImageLookup(db, blobs, reader, scope), manifest }
}

/** Returns the `config` of the configuration of an image for an architecture, unvalidated. Throws code 5 if there is no such image. */
export type ReadImageConfiguration = (
  call: Call,
  digest: string,
  architecture: string,
) => Promise<Readonly<Record<string, unknown>> | undefined>

export function imageConfigurationReader(
  { db }: Pick<Store, 'db'>,
  blobs: BlobStore,
  reader: ImageReader,
): ReadImageConfiguration {
  const images = { db, blobs, reader }
  return async (call, digest, architecture) => {
    const { config } = (await requireImage(images, call, digest, architecture)).manifest
    const read =
      config && (await createImageLookup(db, blobs, reader, requireScope(call).scope).config(config))
    return read?.config
  }
}

/** Returns the image of a digest for an architecture. Throws code 5 if there is none. */
async function requireImage(
  images: ImageSource,
  call: Call,
  digest: string,
  requested: string,
): Promise<Image> {
  const { question: lookup, manifest } = await requireManifest(
    images,
    call,
    digest,
    checkArchitecture(requested),
  )
  // An image that is not an index has no choice of architectures.
  const isAny = requested === '' && manifest.manifests === undefined
  const wanted = requested === '' ? DEFAULT_ARCHITECTURE : requested
  for await (const image of listImages(lookup, digest))
    if (isAny || image.architecture === wanted) return image
  throw notFound(MANIFEST_TYPE, digest, `Manifest ${digest} has no image for ${wanted}`)
}

export function imagesService({ db }: Pick<Store, 'db'>, blobs: BlobStore, reader: ImageReader) {
  const images = { db, blobs, reader }
  return implement(ImagesService, {
    async getArchitectures({ digest }, call) {
      const { question: lookup } = await requireManifest(images, call, digest)
      const architectures = new Set<string>()
      for await (const { architecture } of listImages(lookup, digest))
        if (architecture !== undefined) architectures.add(architecture)
      return {
        $typeName: 'chainguard.platform.registry.v2beta1.Architectures' as const,
        architectures: [...architectures],
      }
    },

    async getSize({ digest, architecture: requested }, call) {
      const { architecture, manifest } = await requireImage(images, call, digest, requested)
      return {
        $typeName: 'chainguard.platform.registry.v2beta1.Size' as const,
        size: BigInt(imageSize(manifest)),
        architecture: architecture ?? '',
      }
    },
  })
}

/** As OCI image indexes name architectures: `amd64`, or `arm/v7` with a variant. Empty means `amd64`. */
const architecturePattern = /^(?:[a-z0-9_]+(?:\/[a-z0-9_]+)?)?$/

function checkArchitecture(architecture: string, field = 'architecture'): FieldViolation | undefined {
  if (architecture.length > limits.architectureCharsMax)
    return { field, description: `must have at most ${limits.architectureCharsMax} characters` }
  if (!architecturePattern.test(architecture))
    return {
      field,
      description: 'must be an architecture such as amd64, or one with a variant such as arm/v7',
    }
  return undefined
}
