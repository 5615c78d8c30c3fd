import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Finding } from './findings.ts'

/** One scrub: the options and counts that its passes share. */

export interface ScrubOptions {
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly blobs: BlobStore
  /** Forgets missing or damaged bytes, so that a push of the same bytes stores them again. */
  readonly repair: boolean
  /** Forgets what is missing, however much of the store that is. */
  readonly force?: boolean | undefined
  /** Waits before this number of further bytes is read. */
  readonly throttle?: ((bytes: number) => Promise<void>) | undefined
  /** Ends after this number of bytes; undefined: no limit. */
  readonly bytesMax?: number | undefined
  /** Where the previous scrub ended; '' for the start. */
  readonly position: string
  /** Called regularly with the current position. */
  readonly savePosition: (position: string) => Promise<void>
  readonly onFinding: (finding: Finding) => void
  readonly onProgress?: ((progress: ScrubProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** Untracked bytes that are younger are ignored. */
  readonly orphanAgeMs: number
}

export interface ScrubProgress {
  readonly bytes: number
  /** Size of all blobs to read. */
  readonly totalBytes: number
}

export interface ScrubReport {
  readonly blobs: number
  readonly bytes: number
  readonly manifests: number
  /** Where the next scrub continues; '' if this one reached the end. */
  readonly position: string
}
