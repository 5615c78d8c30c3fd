import type { Worker } from 'node:worker_threads'
import { tooSoon, unavailable } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import {
  type ImageConfiguration,
  type ImageManifest,
  readImage,
  readImageConfig,
} from '../registry/image-json.ts'
import type { ImageReader } from '../registry/image-manifests.ts'
import { ownMemory } from '../worker/own-memory.ts'
import { type ThreadCounts, threadPool } from '../worker/thread-pool.ts'
import { WorkerFailure } from '../worker/worker-process.ts'
import { type Algorithm, digestOf } from './digests.ts'
import { ociError } from './errors.ts'
import { type CheckedManifest, checkManifest } from './manifest-check.ts'
import type { ManifestJob, ManifestResult, PushedManifest } from './manifest-thread.ts'

/** Reads manifests and image configurations: small ones where they are, larger ones in worker threads (ADR 15). */

export interface ManifestReader extends ImageReader {
  /**
   * Reserves a place for a large manifest, which holds until the returned function is called. Throws code 8 where one of the owners
   * has too many, and code 14 where all places are taken.
   */
  reserve(owners: readonly string[]): () => void
  /**
   * The digest of a manifest that is pushed, and what it needs. Throws MANIFEST_INVALID after `require` accepted the digest. Takes
   * over `bytes`; the manifest is in the result.
   */
  push(
    bytes: Uint8Array,
    how: {
      readonly contentType: string | undefined
      readonly algorithm: Algorithm
      /** Throws for a digest that is not the announced one. */
      readonly require: (digest: string) => void
    },
  ): Promise<{ readonly content: Uint8Array; readonly digest: string; readonly checked: CheckedManifest }>
  /** Of the worker threads. */
  counts(): ThreadCounts
  close(): Promise<void>
}

export interface ManifestReaderOptions {
  readonly largeManifestsMax?: number
  readonly largeManifestsPerCallerMax?: number
  readonly manifestThreadIdleMs?: number
  /** Called with each thread that starts. */
  readonly onThread?: (worker: Worker) => void
}

export function manifestReader(options: ManifestReaderOptions = {}): ManifestReader {
  const { largeManifestsMax, largeManifestsPerCallerMax, manifestThreadIdleMs } = { ...limits, ...options }
  const threads = threadPool<ManifestJob, ManifestResult>(
    new URL('./manifest-thread.ts', import.meta.url),
    {
      threadsMax: limits.manifestThreadsMax,
      msMax: limits.manifestReadingMsMax,
      heapMib: limits.manifestThreadHeapMib,
      idleMs: manifestThreadIdleMs,
    },
    options.onThread,
  )
  const reserve = places(largeManifestsMax, largeManifestsPerCallerMax)

  const inThread = async <T extends ManifestResult>(job: ManifestJob, moved?: ArrayBuffer[]): Promise<T> => {
    try {
      return (await threads.run(job, moved)) as T
    } catch (error) {
      if (!(error instanceof WorkerFailure)) throw error
      throw unavailable('the manifest could not be read; try again', limits.largeManifestRetryMs, error)
    }
  }

  /** Reads of an organization take no places from its pushes. */
  const readLarge = async <T extends ManifestResult>(root: string, job: ManifestJob): Promise<T> => {
    const release = reserve([`reads of ${root}`])
    try {
      return await inThread<T>(job)
    } finally {
      release()
    }
  }

  return {
    reserve,
    async push(bytes, { contentType, algorithm, require }) {
      if (!isLarge(bytes.length)) {
        const digest = digestOf(algorithm, bytes)
        require(digest)
        return { content: bytes, digest, checked: checkManifest(bytes, contentType) }
      }
      const job = { kind: 'push', bytes, contentType, algorithm } as const
      const { bytes: content, digest, checked } = await inThread<PushedManifest>(job, ownMemory(bytes))
      require(digest)
      if ('invalid' in checked) throw ociError('MANIFEST_INVALID', checked.invalid)
      return { content, digest, checked }
    },
    image: async (root, bytes) =>
      isLarge(bytes.length)
        ? readLarge<ImageManifest | undefined>(root, { kind: 'image', bytes })
        : readImage(bytes),
    config: async (root, bytes) =>
      isLarge(bytes.length)
        ? readLarge<ImageConfiguration | undefined>(root, { kind: 'config', bytes })
        : readImageConfig(bytes),
    counts: threads.counts,
    close: threads.close,
  }
}

/** Whether so many bytes are read in a worker thread. */
export function isLarge(bytes: number): boolean {
  return bytes > limits.manifestInlineBytesMax
}

/** Counts places: all, and those of each owner. */
function places(max: number, perOwnerMax: number): ManifestReader['reserve'] {
  let taken = 0
  const byOwner = new Map<string, number>()
  return (owners) => {
    if (owners.some((owner) => (byOwner.get(owner) ?? 0) >= perOwnerMax))
      throw tooSoon(
        `an identity or organization may push or read ${perOwnerMax} large manifests at the same time (largeManifestsPerCallerMax); try again later`,
        limits.largeManifestRetryMs,
      )
    if (taken >= max)
      throw unavailable(
        `the server reads ${max} large manifests already (largeManifestsMax); try again later`,
        limits.largeManifestRetryMs,
      )
    taken++
    for (const owner of owners) byOwner.set(owner, (byOwner.get(owner) ?? 0) + 1)
    return () => {
      taken--
      for (const owner of owners) {
        const left = (byOwner.get(owner) ?? 0) - 1
        if (left > 0) byOwner.set(owner, left)
        else byOwner.delete(owner)
      }
    }
  }
}
