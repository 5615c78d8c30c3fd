import type { BlobReader } from './blob-reader.ts'
import type { Descriptor, Manifest } from './descriptors.ts'
import { isMissingError } from './transfer-error.ts'

/** Where images are, and where they are copied to: a repository of a registry, or a directory with an OCI layout. */
export interface ImageStore {
  /** As the person named it. */
  readonly name: string
  /** What is kept under a tag or a digest; '' is the one image of a layout. Throws a TransferError of 'missing'. */
  getManifest(reference: string): Promise<Manifest>
  /** Digest of what is kept under a tag or a digest; undefined where there is nothing. */
  resolveDigest(reference: string): Promise<string | undefined>
  listTags(): AsyncIterable<string>
  /** Manifests that say that they belong to another one: signatures, bills of materials. */
  listReferrers(digest: string): Promise<readonly Descriptor[]>
  /** Bytes of a blob from one on, checked by nobody yet; the stream may break. */
  openBlob(blob: Descriptor, from: number): Promise<AsyncIterable<Buffer>>
  hasBlob(blob: Descriptor): Promise<boolean>
  /** True where another repository of the same registry gave it, without a byte coming this way. */
  mountBlob(blob: Descriptor, from: ImageStore): Promise<boolean>
  /** Takes a blob once all its bytes are there and are those of its digest. */
  putBlob(blob: BlobReader): Promise<void>
  /** Takes a manifest, whose blobs it has, under a tag or its digest. */
  putManifest(getManifest: Manifest, reference: string): Promise<void>
  /** Makes an image that it has under its digest, and under no tag, one of those that can be found here. */
  addToIndex(getManifest: Manifest): Promise<void>
}

/** What is kept under a tag or a digest; undefined where there is nothing. */
export async function findManifest(store: ImageStore, reference: string): Promise<Manifest | undefined> {
  try {
    return await store.getManifest(reference)
  } catch (error) {
    if (isMissingError(error)) return undefined
    throw error
  }
}

/** Tag under which registries without an API for referrers keep the list of them. */
export function referrersTag(digest: string): string {
  return digest.replace(':', '-')
}
