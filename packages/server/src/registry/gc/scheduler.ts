import { limits } from '../../config/limits.ts'
import type { Tracer } from '../../runtime/tracer.ts'
import { type Ballast, noBallast } from '../../storage/engines/sqlite/ballast.ts'
import { type JobScheduler, startJobScheduler } from '../../storage/jobs/job-scheduler.ts'
import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { gcJob } from '../jobs.ts'
import { collectRecorded } from '../runs/garbage-collection-run.ts'
import type { GcReport } from './run.ts'

export interface GcSchedulerOptions {
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly blobs: BlobStore
  /** Without it, no disk space is released for garbage collection. */
  readonly ballast?: Ballast
  /** Undefined disables garbage collection. */
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

/** Runs garbage collection periodically, on one node at a time. */
export function gcScheduler(options: GcSchedulerOptions): JobScheduler {
  const { store, intervalMs, leaseMs, tracer, onRun, onError } = options
  const { pollMs = limits.gcPollMs, ballast = noBallast } = options
  if (intervalMs === undefined) return { stop: async () => {} }
  const { db, clock } = store
  let startMs = 0
  const durationMs = () => performance.now() - startMs
  return startJobScheduler(
    { db, clock, tracer, onError },
    {
      kind: gcJob,
      span: 'job garbage-collection',
      pollMs,
      leaseMs,
      intervalMs,
      leasing: (lease) => ballast.run(lease),
      async run({ signal }) {
        startMs = performance.now()
        const report = await collectRecorded({
          ...options,
          ballast,
          dryRun: false,
          requireKnownStore: true,
          actor: 'system',
          signal,
        })
        return {
          succeededMs: clock(),
          afterRelease: () => onRun({ outcome: 'succeeded', report, durationMs: durationMs() }),
        }
      },
      onFailure(error, _, { isInterrupted }) {
        if (isInterrupted) return {}
        return {
          dueMs: clock() + Math.min(intervalMs, limits.gcRetryMs),
          afterRelease: () => onRun({ outcome: 'failed', error, durationMs: durationMs() }),
        }
      },
    },
  )
}
