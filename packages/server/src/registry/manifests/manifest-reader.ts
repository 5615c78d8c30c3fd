import type { Worker } from 'node:worker_threads'
import { rateLimited, unavailable } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { createThreadPool, type ThreadCounts } from '../../runtime/workers/thread-pool.ts'
import { transferableBuffers } from '../../runtime/workers/transferable-buffers.ts'
import { WorkerFailure } from '../../runtime/workers/worker-process.ts'
import { ociError } from '../oci/errors.ts'
import { type DigestAlgorithm, digestOf } from './digests.ts'
import { parseStoredConfiguration, type StoredConfiguration } from './image-configuration.ts'
import {
  type ImageConfiguration,
  type ImageManifest,
  parseImageConfig,
  parseImageManifest,
} from './image-json.ts'
import type { ImageReader } from './image-manifests.ts'
import { parseStoredManifest, type StoredManifest } from './manifest-content.ts'
import { type ParsedManifest, parseManifest } from './manifest-parser.ts'
import type { ManifestJob, ManifestResult, PushedManifest } from './manifest-thread.ts'

/** Parses manifests and image configurations: small ones in place, larger ones in worker threads (ADR 15). */

/** Reads manifests and configurations with all that people want to see; undefined beyond the limits. */
export interface ContentReader {
  content(root: string, bytes: Uint8Array): Promise<StoredManifest | undefined>
  configuration(root: string, bytes: Uint8Array): Promise<StoredConfiguration | undefined>
}

export interface ManifestReader extends ImageReader, ContentReader {
  /**
   * Reserves capacity for a large manifest until the returned function is called. Throws code 8 if one of the owners
   * has too many, and code 14 if the server has too many.
   */
  reserve(owners: readonly string[]): () => void
  /**
   * Parses a pushed manifest and returns its digest and dependencies. Calls `require` with the digest first, then throws MANIFEST_INVALID.
   * Takes ownership of `bytes`; the manifest is in the result.
   */
  push(
    bytes: Uint8Array,
    how: {
      readonly contentType: string | undefined
      readonly algorithm: DigestAlgorithm
      /** Throws if the digest is not the announced one. */
      readonly require: (digest: string) => void
    },
  ): Promise<{ readonly content: Uint8Array; readonly digest: string; readonly parsed: ParsedManifest }>
  /** Counts of the worker threads. */
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
  const threads = createThreadPool<ManifestJob, ManifestResult>(
    new URL('./manifest-thread.ts', import.meta.url),
    {
      threadsMax: limits.manifestThreadsMax,
      msMax: limits.manifestParseMsMax,
      heapMib: limits.manifestThreadHeapMib,
      idleMs: manifestThreadIdleMs,
    },
    options.onThread,
  )
  const reserve = createReservations(largeManifestsMax, largeManifestsPerCallerMax)

  const runInThread = async <T extends ManifestResult>(
    job: ManifestJob,
    moved?: ArrayBuffer[],
  ): Promise<T> => {
    try {
      return (await threads.run(job, moved)) as T
    } catch (error) {
      if (!(error instanceof WorkerFailure)) throw error
      throw unavailable('the manifest could not be parsed; retry later', limits.largeManifestRetryMs, error)
    }
  }

  /** Reads use other reservations than pushes of the same organization. */
  const readLarge = async <T extends ManifestResult>(root: string, job: ManifestJob): Promise<T> => {
    const release = reserve([`reads of ${root}`])
    try {
      return await runInThread<T>(job)
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
        return { content: bytes, digest, parsed: parseManifest(bytes, contentType) }
      }
      const job = { kind: 'push', bytes, contentType, algorithm } as const
      const {
        bytes: content,
        digest,
        checked: parsed,
      } = await runInThread<PushedManifest>(job, transferableBuffers(bytes))
      require(digest)
      if ('invalid' in parsed) throw ociError('MANIFEST_INVALID', parsed.invalid)
      return { content, digest, parsed }
    },
    image: async (root, bytes) =>
      isLarge(bytes.length)
        ? readLarge<ImageManifest | undefined>(root, { kind: 'image', bytes })
        : parseImageManifest(bytes),
    config: async (root, bytes) =>
      isLarge(bytes.length)
        ? readLarge<ImageConfiguration | undefined>(root, { kind: 'config', bytes })
        : parseImageConfig(bytes),
    content: async (root, bytes) =>
      isLarge(bytes.length)
        ? readLarge<StoredManifest | undefined>(root, { kind: 'content', bytes })
        : parseStoredManifest(bytes),
    configuration: async (root, bytes) =>
      isLarge(bytes.length)
        ? readLarge<StoredConfiguration | undefined>(root, { kind: 'configuration', bytes })
        : parseStoredConfiguration(bytes),
    counts: threads.counts,
    close: threads.close,
  }
}

/** Whether content of this size is parsed in a worker thread. */
export function isLarge(bytes: number): boolean {
  return bytes > limits.manifestInlineBytesMax
}

/** Counts reservations: in total, and for each owner. */
function createReservations(max: number, perOwnerMax: number): ManifestReader['reserve'] {
  let reserved = 0
  const byOwner = new Map<string, number>()
  return (owners) => {
    if (owners.some((owner) => (byOwner.get(owner) ?? 0) >= perOwnerMax))
      throw rateLimited(
        `an identity or organization may push or read at most ${perOwnerMax} large manifests at the same time (largeManifestsPerCallerMax); retry later`,
        limits.largeManifestRetryMs,
      )
    if (reserved >= max)
      throw unavailable(
        `the server is already processing ${max} large manifests (largeManifestsMax); retry later`,
        limits.largeManifestRetryMs,
      )
    reserved++
    for (const owner of owners) byOwner.set(owner, (byOwner.get(owner) ?? 0) + 1)
    return () => {
      reserved--
      for (const owner of owners) {
        const remaining = (byOwner.get(owner) ?? 0) - 1
        if (remaining > 0) byOwner.set(owner, remaining)
        else byOwner.delete(owner)
      }
    }
  }
}
