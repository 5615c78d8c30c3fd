import { runInBackground } from '../../pipeline/request/request-context.ts'
import type { Ballast } from '../../storage/engines/sqlite/ballast.ts'
import { JobInterrupted, releaseOnFailure } from '../../storage/jobs/job-leases.ts'
import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { collectRecorded, collectUnderLease, leaseGarbageCollection } from './garbage-collection-run.ts'
import { RunCancelled, type StorageRunKind, startRecordedRun } from './recorded-run.ts'
import { leaseScrub, scrubUnderLease } from './scrub-run.ts'

/** Runs garbage collection and scrub on this node when an operator starts them. */

export interface StorageRunRequest {
  readonly kind: StorageRunKind
  readonly dryRun: boolean
  readonly graceMs: number
  readonly bytesPerSecond: number | undefined
  readonly actor: string
  /** Runs in the transaction that records the start. */
  readonly with: Parameters<typeof startRecordedRun>[3]
}

export interface StorageRunner {
  /** Starts a run and returns its id; undefined while another process runs this kind. A node has one dry run at a time. */
  start(request: StorageRunRequest): Promise<string | undefined>
  /** Interrupts the runs of this node and waits for them. */
  stop(): Promise<void>
}

export interface StorageRunnerOptions {
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly blobs: BlobStore
  readonly ballast: Ballast
  readonly onError: (error: unknown) => void
}

export function createStorageRunner({ store, blobs, ballast, onError }: StorageRunnerOptions): StorageRunner {
  const stopping = new AbortController()
  const { signal } = stopping
  const running = new Set<Promise<unknown>>()
  // Dry runs take no lease, so that they delay no collection.
  let isDryRunning = false

  async function start(request: StorageRunRequest, onDryRunEnd?: () => void): Promise<string | undefined> {
    const { kind, dryRun, graceMs, bytesPerSecond, actor, with: withRun } = request
    const shared = { store, blobs, ballast, actor, onError, signal }
    const takesLease = kind === 'scrub' || !dryRun
    const lease = takesLease
      ? await (kind === 'scrub' ? leaseScrub(shared) : leaseGarbageCollection(shared))
      : undefined
    if (takesLease && lease === undefined) return undefined
    const startRun = () => startRecordedRun(store, { kind, dryRun, actor }, onError, withRun)
    const run = await releaseOnFailure(lease, () =>
      kind === 'collection' && !dryRun ? ballast.run(startRun) : startRun(),
    )
    const gc = { ...shared, graceMs, dryRun, requireKnownStore: true }
    const scrubOptions = { ...shared, repair: false, bytesPerSecond, resume: false }
    const work = runInBackground(() =>
      lease === undefined
        ? collectRecorded(gc, run, onDryRunEnd)
        : kind === 'scrub'
          ? scrubUnderLease(scrubOptions, lease, run)
          : collectUnderLease(gc, lease, run),
    )
    const ended = work.then(
      () => undefined,
      // The run has the reason.
      (error: unknown) => void (error instanceof RunCancelled || signal.aborted || onError(error)),
    )
    running.add(ended)
    void ended.finally(() => running.delete(ended))
    return run.id
  }

  return {
    async start(request) {
      if (!request.dryRun) return start(request)
      if (isDryRunning) return undefined
      isDryRunning = true
      const onEnd = () => {
        isDryRunning = false
      }
      try {
        return await start(request, onEnd)
      } catch (error) {
        onEnd()
        throw error
      }
    },
    async stop() {
      stopping.abort(new JobInterrupted('the server stopped'))
      await Promise.all(running)
    },
  }
}
