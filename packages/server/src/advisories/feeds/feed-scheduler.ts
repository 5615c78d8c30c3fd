import {
  type Counts,
  createImportSummary,
  type ImportSummary,
} from '@berth/advisory-formats/import/import-summary.ts'
import { ImportCountsSchema } from '@berth/contract/gen/berth/vulnerabilities/v1/feeds_pb.js'
import { create, toBinary } from '@bufbuild/protobuf'
import { ApiError } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import type { Outbound } from '../../runtime/outbound/outbound.ts'
import type { Tracer } from '../../runtime/tracer.ts'
import { inTransaction } from '../../storage/db.ts'
import type { JobLease, JobOutcome } from '../../storage/jobs/job-leases.ts'
import type { JobRun, JobRunCounts } from '../../storage/jobs/job-runs.ts'
import { type JobDefinition, type JobScheduler, startJobScheduler } from '../../storage/jobs/job-scheduler.ts'
import type { Store } from '../../storage/store.ts'
import type { DocumentReader } from '../documents/document-reader.ts'
import { DownloadError, type DownloadLimits } from './download.ts'
import { feedJob, startFeedRun, updateFeed } from './feed-job.ts'
import { FeedError, runFeed } from './feed-run.ts'
import { dueAfterFailure, dueAfterSuccess } from './feed-schedule.ts'

export interface FeedSchedulerOptions {
  readonly store: Store
  readonly reader: DocumentReader
  readonly outbound: Pick<Outbound, 'getStream'>
  /** For downloads. */
  readonly directory: string
  readonly bounds?: DownloadLimits
  readonly pollMs?: number | undefined
  readonly leaseMs?: number | undefined
  readonly tracer?: Tracer | undefined
  /** Receives the result of each run that was not interrupted. */
  readonly onRun: (run: FeedRunResult) => void
  /** Receives errors that no feed caused. */
  readonly onError: (error: unknown, feed?: string) => void
}

export interface FeedRunResult {
  readonly feed: string
  readonly outcome: 'succeeded' | 'unchanged' | 'failed'
  readonly counts: Counts & { readonly skipped: number }
  /** Why it failed; '' otherwise. */
  readonly error: string
}

/** Reads feeds when they are due. */
export function startFeedScheduler(options: FeedSchedulerOptions): JobScheduler {
  const { store, tracer, onRun, onError } = options
  const { pollMs = limits.feedPollMs, leaseMs = limits.feedLeaseMs } = options
  const { db, clock } = store
  const runs = new Map<JobLease, FeedRun>()

  const report = (feed: string, summary: ImportSummary, outcome: FeedRunResult['outcome'], error = '') =>
    onRun({ feed, outcome, error, counts: { ...summary.total(), skipped: summary.skipped() } })

  const run = async (lease: JobLease): Promise<JobOutcome> => {
    const summary = createImportSummary(limits.feedRejectionsMax)
    const started: FeedRun = { summary, failures: 0, record: undefined }
    runs.set(lease, started)
    const { feed, run: record } = await startFeedRun(store, lease)
    Object.assign(started, { failures: feed.failures, record })
    lease.onRenewal((tx) => updateFeed(tx, feed.uid, countsOf(summary)))
    const version = await runFeed(feed, {
      ...options,
      bounds: options.bounds ?? limits,
      requestId: `feed-${lease.runner}`,
      summary,
      onDownloaded: () =>
        inTransaction(db, async (tx) => {
          await lease.renew(tx)
          await record.start(tx)
        }),
      async assertRunning(tx) {
        lease.signal.throwIfAborted()
        await lease.requireHeld(tx)
      },
      signal: lease.signal,
    })
    runs.delete(lease)
    const now = clock()
    return {
      dueMs: dueAfterSuccess({ now, intervalMs: feed.interval_ms, random: Math.random() }),
      async write(tx, { isRescheduled }) {
        await updateFeed(tx, feed.uid, {
          succeeded_ms: now,
          failures: 0,
          error: '',
          // A run that was requested meanwhile reads everything again.
          ...(version && !isRescheduled && { etag: version.etag, last_modified: version.lastModified }),
          ...(!isRescheduled && { requested_by: '' }),
          ...countsOf(summary),
        })
        await record.end(tx, { state: 'succeeded', counts: runCounts(summary) })
      },
      afterRelease: () => report(feed.uid, summary, version === undefined ? 'unchanged' : 'succeeded'),
    }
  }

  const onFailure: JobDefinition['onFailure'] = async (error, lease, { isInterrupted }) => {
    const feed = lease.key
    const { summary, failures: before, record } = runs.get(lease) as FeedRun
    runs.delete(lease)
    const counts = runCounts(summary)
    // An interrupted feed is still due; the next run skips the documents that were imported.
    if (isInterrupted) {
      // A run that lost its lease records its end, too.
      await inTransaction(db, async (tx) => record?.end(tx, { state: 'interrupted', counts }))
      return { write: (tx) => updateFeed(tx, feed, countsOf(summary)) }
    }
    const reason = publicReason(error)
    if (reason === undefined) onError(error, feed)
    const failures = before + 1
    const retryAfterMs = error instanceof DownloadError ? error.retryAfterMs : 0
    return {
      dueMs: dueAfterFailure({ now: clock(), failures, retryAfterMs, random: Math.random() }),
      async write(tx, { isRescheduled }) {
        const error = reason ?? 'internal error; the server log has the details'
        await updateFeed(tx, feed, {
          failures,
          error,
          ...(!isRescheduled && { requested_by: '' }),
          ...countsOf(summary),
        })
        await record?.end(tx, { state: 'failed', counts, error })
      },
      afterRelease: () => report(feed, summary, 'failed', reason),
    }
  }

  return startJobScheduler(
    { db, clock, tracer, onError },
    {
      kind: feedJob,
      span: 'job advisory-feed',
      pollMs,
      leaseMs,
      concurrency: limits.feedConcurrencyMax,
      concurrencyPerOrganization: limits.feedConcurrencyPerOrganizationMax,
      run,
      onFailure,
    },
  )
}

interface FeedRun {
  readonly summary: ImportSummary
  /** Of the runs before. */
  failures: number
  /** Undefined until the start is recorded. */
  record: JobRun | undefined
}

function runCounts(summary: ImportSummary): JobRunCounts {
  return { ...summary.total(), skipped: summary.skipped() }
}

/** The reason that users of the feed see; undefined for errors that only the operator may see. */
function publicReason(error: unknown): string | undefined {
  if (error instanceof DownloadError || error instanceof FeedError) return error.message
  return error instanceof ApiError ? error.message : undefined
}

function countsOf(summary: ImportSummary): { readonly counts?: Uint8Array } {
  const total = summary.total()
  const skipped = summary.skipped()
  if (total.documents + total.rejected + skipped === 0) return {}
  const rejections = summary.rejections.map((rejection) => ({ ...rejection, accepted: false }))
  return {
    counts: toBinary(ImportCountsSchema, create(ImportCountsSchema, { ...total, skipped, rejections })),
  }
}
