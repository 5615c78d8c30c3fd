import { limits } from '../../config/limits.ts'
import { startPeriodicTask } from '../../runtime/periodic-task.ts'
import { type Tracer, traceJob } from '../../runtime/tracer.ts'
import { type Ballast, noBallast } from '../../storage/engines/sqlite/ballast.ts'
import { acquireJob, JobLeaseLost, scheduleJob } from '../../storage/jobs/job-leases.ts'
import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { collectGarbage } from './garbage-collection.ts'
import type { GcReport } from './run.ts'

/** Runs garbage collection when it is due, on whichever node leases it first, until it is stopped. */

export interface GcScheduler {
  /** Ends a run after its current batch; the next start, or another node, runs it again. */
  stop(): Promise<void>
}

export interface GcSchedulerOptions {
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly blobs: BlobStore
  /** Reserved space that garbage collection can use on a full disk. */
  readonly ballast?: Ballast
  /** undefined: never. */
  readonly intervalMs: number | undefined
  readonly graceMs: number
  readonly pollMs?: number | undefined
  readonly leaseMs?: number | undefined
  readonly tracer?: Tracer | undefined
  readonly onRun: (run: GcResult) => void
  readonly onError: (error: unknown) => void
}

export type GcResult = {
  readonly durationMs: number
} & (
  | { readonly outcome: 'succeeded'; readonly report: GcReport }
  | { readonly outcome: 'failed'; readonly error: unknown }
)

/** Nodes do not start at the same time every day. */
const JITTER = 0.05

export function gcScheduler(options: GcSchedulerOptions): GcScheduler {
  const { store, intervalMs, leaseMs, onError, pollMs = limits.gcPollMs, ballast = noBallast } = options
  if (intervalMs === undefined) return { stop: async () => {} }
  const { db, clock } = store
  const stopping = new AbortController()
  const nextDueMs = () => Math.round(clock() + intervalMs * (1 - JITTER * Math.random()))
  let isScheduled = false

  const poll = async () => {
    const job = await ballast.run(async () => {
      if (!isScheduled) await scheduleJob(db, 'collection', nextDueMs())
      isScheduled = true
      return acquireJob({ db, clock, onError, leaseMs }, 'collection', { dueBy: clock() })
    })
    if (job === undefined) return
    const startMs = performance.now()
    try {
      const signal = AbortSignal.any([stopping.signal, job.signal])
      const report = await traceJob(options.tracer, 'job garbage-collection', () =>
        ballast.run(() => collectGarbage({ ...options, dryRun: false, requireKnownStore: true, signal })),
      )
      await job.release({ due_ms: nextDueMs(), succeeded_ms: clock() })
      options.onRun({ outcome: 'succeeded', report, durationMs: performance.now() - startMs })
    } catch (error) {
      const isInterrupted = stopping.signal.aborted || error instanceof JobLeaseLost
      // An interrupted run is still due; a failed one is retried after a while.
      const retryMs = clock() + Math.min(intervalMs, limits.gcRetryMs)
      await job.release(isInterrupted ? {} : { due_ms: retryMs })
      if (!isInterrupted) options.onRun({ outcome: 'failed', error, durationMs: performance.now() - startMs })
    }
  }

  const poller = startPeriodicTask(pollMs, poll, onError)

  return {
    async stop() {
      stopping.abort(new Error('the server is stopping'))
      await poller.stop()
    },
  }
}
