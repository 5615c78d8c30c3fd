import {
  type Counts,
  createImportSummary,
  type ImportSummary,
} from '@berth/advisory-formats/import-summary.ts'
import { ImportCountsSchema } from '@berth/contract/gen/berth/vulnerabilities/v1/feeds_pb.js'
import { create, toBinary } from '@bufbuild/protobuf'
import { ApiError } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Outbound } from '../../runtime/outbound/outbound.ts'
import { startPeriodicTask } from '../../runtime/periodic-task.ts'
import { type Tracer, traceJob } from '../../runtime/tracer.ts'
import type { Reader } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import type { DocumentReader } from '../documents/document-reader.ts'
import { DownloadError, type DownloadLimits } from './download.ts'
import {
  holdsLease,
  type LeasedFeed,
  leaseFeed,
  readDueFeeds,
  releaseFeed,
  renewLease,
} from './feed-leases.ts'
import { FeedError, RunStopped, runFeed } from './feed-run.ts'
import { dueAfterFailure, dueAfterSuccess } from './feed-schedule.ts'

/** Runs feeds when they are due, on whichever node leases them first, until it is stopped. */

export interface FeedScheduler {
  /** Ends runs after their current document; other nodes can continue them immediately. */
  stop(): Promise<void>
}

export interface FeedSchedulerOptions {
  readonly store: Store
  readonly reader: DocumentReader
  readonly outbound: Pick<Outbound, 'getStream'>
  /** Directory for downloads. */
  readonly directory: string
  readonly bounds?: DownloadLimits
  readonly pollMs?: number | undefined
  readonly leaseMs?: number | undefined
  readonly tracer?: Tracer | undefined
  /** Called with the result of every run. */
  readonly onRun: (run: FeedRunResult) => void
  /** Called with errors that are not caused by a feed. */
  readonly onError: (error: unknown, feed?: string) => void
}

export interface FeedRunResult {
  readonly feed: string
  readonly outcome: 'succeeded' | 'unchanged' | 'failed'
  readonly counts: Counts & { readonly skipped: number }
  /** Why the run failed, or ''. */
  readonly error: string
}

export function startFeedScheduler(options: FeedSchedulerOptions): FeedScheduler {
  const { store, onRun, onError } = options
  const { pollMs = limits.feedPollMs, leaseMs = limits.feedLeaseMs } = options
  const { db, clock } = store
  const stopping = new AbortController()
  /** The runs of this node, with the organizations of their feeds. */
  const running = new Map<Promise<void>, string>()
  const isAtLimit = (organization: string) =>
    [...running.values()].filter((one) => one === organization).length >=
    limits.feedConcurrencyPerOrganizationMax

  const poll = async () => {
    const capacity = limits.feedConcurrencyMax - running.size
    if (capacity <= 0) return
    const atLimit = [...new Set(running.values())].filter(isAtLimit)
    for (const uid of await readDueFeeds(db, clock(), { max: capacity, except: atLimit })) {
      if (stopping.signal.aborted) return
      if (isAtLimit(rootOf(uid))) continue
      const feed = await leaseFeed(db, uid, clock(), leaseMs)
      if (feed === undefined) continue
      const work = run(feed).catch((error: unknown) => onError(error, uid))
      running.set(work, rootOf(uid))
      void work.finally(() => running.delete(work))
    }
  }

  const run = async (feed: LeasedFeed) => {
    const end = new AbortController()
    const signal = AbortSignal.any([stopping.signal, end.signal])
    const summary = createImportSummary(limits.feedRejectionsMax)
    const renew = async () => {
      const changed = { lease_ms: clock() + leaseMs, ...countsOf(summary) }
      if (!(await renewLease(db, feed, changed))) end.abort(new RunStopped())
    }
    const renewal = startPeriodicTask(leaseMs / 3, renew, (error) => onError(error, feed.uid))
    try {
      await traceJob(options.tracer, 'job advisory-feed', () => attempt(feed, summary, signal))
    } finally {
      await renewal.stop()
    }
  }

  const attempt = async (feed: LeasedFeed, summary: ImportSummary, signal: AbortSignal) => {
    const assertRunning = async (tx: Reader = db.kysely) => {
      signal.throwIfAborted()
      if (!(await holdsLease(tx, feed))) throw new RunStopped()
    }
    const { interval_ms: intervalMs } = feed
    const report = (outcome: FeedRunResult['outcome'], error = '') =>
      onRun({ feed: feed.uid, outcome, error, counts: { ...summary.total(), skipped: summary.skipped() } })
    try {
      const version = await runFeed(feed, {
        ...options,
        bounds: options.bounds ?? limits,
        requestId: `feed-${feed.runner}`,
        summary,
        assertRunning,
        signal,
      })
      const now = clock()
      await releaseFeed(db, feed, {
        due_ms: dueAfterSuccess({ now, intervalMs, random: Math.random() }),
        succeeded_ms: now,
        failures: 0,
        error: '',
        ...(version && { etag: version.etag, last_modified: version.lastModified }),
        ...countsOf(summary),
      })
      report(version === undefined ? 'unchanged' : 'succeeded')
    } catch (error) {
      if (signal.aborted || error instanceof RunStopped) {
        // Still due: the next run starts again and skips what is already imported.
        await releaseFeed(db, feed, countsOf(summary))
        return
      }
      const reason = publicReason(error)
      if (reason === undefined) onError(error, feed.uid)
      const failures = feed.failures + 1
      const retryAfterMs = error instanceof DownloadError ? error.retryAfterMs : 0
      await releaseFeed(db, feed, {
        due_ms: dueAfterFailure({ now: clock(), failures, retryAfterMs, random: Math.random() }),
        failures,
        error: reason ?? 'internal error; see the server log',
        ...countsOf(summary),
      })
      report('failed', reason)
    }
  }

  const polling = startPeriodicTask(pollMs, poll, (error) => onError(error))

  return {
    async stop() {
      stopping.abort(new RunStopped())
      await polling.stop()
      await Promise.all(running.keys())
    },
  }
}

/** Returns the error for users of the feed; undefined if only the operator may see it. */
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
