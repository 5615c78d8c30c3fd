import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Finding } from './findings.ts'

/** One scrub: what its passes work with, and what they count. */

export interface ScrubOptions {
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly blobs: BlobStore
  /** Makes bytes that are missing or damaged unknown, so that a push of the same stores them anew. */
  readonly repair: boolean
  /** Forgets what is missing, however much of the store that is. */
  readonly force?: boolean | undefined
  /** Waits before so many more bytes are read. */
  readonly throttle?: ((bytes: number) => Promise<void>) | undefined
  /** Ends after so many bytes; undefined: at the end. */
  readonly bytesMax?: number | undefined
  /** Where a scrub before has ended, '' at the beginning. */
  readonly position: string
  /** Told now and then how far it is. */
  readonly savePosition: (position: string) => Promise<void>
  readonly onFinding: (finding: Finding) => void
  readonly onProgress?: ((progress: ScrubProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** Stored bytes that no row knows are left out while they are younger. */
  readonly orphanAgeMs: number
}

export interface ScrubProgress {
  readonly bytes: number
  /** Of all blobs that are to be read. */
  readonly totalBytes: number
}

export interface ScrubReport {
  readonly blobs: number
  readonly bytes: number
  readonly manifests: number
  /** Where the next one goes on; '' when all was looked at. */
  readonly position: string
}
