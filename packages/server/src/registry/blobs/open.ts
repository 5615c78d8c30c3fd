import { join } from 'node:path'
import type { Tracer } from '../../runtime/tracer.ts'
import type { BlobStore } from './blob-store.ts'
import { fileBlobs } from './files/file-system.ts'
import { tracedBlobs } from './traced.ts'

/** Where this installation has its blobs: in its data directory, or in a bucket. */
export interface BlobSettings {
  readonly bucket: string
  /** undefined: Amazon's of the region. */
  readonly endpoint: string | undefined
  /** undefined: what the environment says. */
  readonly region: string | undefined
  /** Of all keys: '' or with a slash at its end. */
  readonly prefix: string
  /** The bucket is named in the path of a URL, not in its host. */
  readonly pathStyle: boolean
  /** Clients get blobs from the bucket itself, at this address of it if it has another one for them. */
  readonly redirect: false | { readonly endpoint: string | undefined }
}

export interface BlobLog {
  warn(fields: object, message: string): void
}

/** Where blobs are that are files. */
export function blobDirectory(dataDir: string): string {
  return join(dataDir, 'blobs')
}

/** Throws UnusableStore for a bucket that cannot be used. */
export async function openBlobs(
  { dataDir, blobs }: { readonly dataDir: string; readonly blobs: BlobSettings | undefined },
  log: BlobLog,
  tracer?: Tracer,
): Promise<BlobStore> {
  if (blobs === undefined) {
    const files = fileBlobs(blobDirectory(dataDir))
    return tracer === undefined ? files : tracedBlobs(files, 'file', tracer)
  }
  // Takes a second and 30 MB, which nobody pays who has files.
  const { openS3Blobs } = await import('./s3/s3-blobs.ts')
  const store = await openS3Blobs(blobs, log, tracer)
  return tracer === undefined ? store : tracedBlobs(store, 's3', tracer)
}
