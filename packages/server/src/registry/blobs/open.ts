import { join } from 'node:path'
import type { Tracer } from '../../runtime/tracer.ts'
import type { BlobStore } from './blob-store.ts'
import { fileBlobs } from './files/file-system.ts'
import { tracedBlobs } from './traced.ts'

/** Where this installation stores blobs: in its data directory or in a bucket. */
export interface BlobSettings {
  readonly bucket: string
  /** undefined: Amazon's endpoint of the region. */
  readonly endpoint: string | undefined
  /** undefined: from the environment. */
  readonly region: string | undefined
  /** Prefix of all keys: '' or ending in a slash. */
  readonly prefix: string
  /** Whether the bucket is in the path of URLs instead of the host name. */
  readonly pathStyle: boolean
  /** Whether clients are redirected to the bucket, and its endpoint for clients if that differs. */
  readonly redirect: false | { readonly endpoint: string | undefined }
}

export interface BlobLog {
  warn(fields: object, message: string): void
}

/** Directory of blobs that are files. */
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
  // Loading it takes a second and 30 MB, which installations with files should not pay.
  const { openS3Blobs } = await import('./s3/s3-blobs.ts')
  const store = await openS3Blobs(blobs, log, tracer)
  return tracer === undefined ? store : tracedBlobs(store, 's3', tracer)
}
