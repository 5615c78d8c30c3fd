import type { BlobReader } from './blob-reader.ts'
import type { Descriptor, Manifest } from './descriptors.ts'
import { isMissingError } from './transfer-error.ts'

/** A source or destination of images: a repository of a registry, or a directory with an OCI layout. */
export interface ImageStore {
  /** The name that the user gave. */
  readonly name: string
  /** Returns a manifest by tag or digest; '' is the only image of a layout. Throws a TransferError of 'missing'. */
  getManifest(reference: string): Promise<Manifest>
  /** Returns the digest of a tag or digest; undefined if it does not exist. */
  resolveDigest(reference: string): Promise<string | undefined>
  listTags(): AsyncIterable<string>
  /** Lists manifests that refer to a subject, such as signatures and SBOMs. */
  listReferrers(digest: string): Promise<readonly Descriptor[]>
  /** Returns the unverified bytes of a blob from an offset; the stream may break. */
  openBlob(blob: Descriptor, from: number): Promise<AsyncIterable<Buffer>>
  hasBlob(blob: Descriptor): Promise<boolean>
  /** Returns true if another repository of the same registry provides the blob without a transfer. */
  mountBlob(blob: Descriptor, from: ImageStore): Promise<boolean>
  /** Stores a blob after all its bytes were verified. */
  putBlob(blob: BlobReader): Promise<void>
  /** Stores a manifest under a tag or its digest. Its blobs must exist. */
  putManifest(getManifest: Manifest, reference: string): Promise<void>
  /** Lists an image that is stored by digest, without a tag, in the index of a layout. */
  addToIndex(getManifest: Manifest): Promise<void>
}

/** Returns a manifest by tag or digest; undefined if it does not exist. */
export async function findManifest(store: ImageStore, reference: string): Promise<Manifest | undefined> {
  try {
    return await store.getManifest(reference)
  } catch (error) {
    if (isMissingError(error)) return undefined
    throw error
  }
}

/** Returns the tag under which registries without a referrers API store the list of referrers. */
export function referrersTag(digest: string): string {
  return digest.replace(':', '-')
}
