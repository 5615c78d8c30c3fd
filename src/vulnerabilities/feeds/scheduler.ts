import { create, toBinary } from '@bufbuild/protobuf'
import { ImportCountsSchema } from '#gen/berth/vulnerabilities/v1/feeds_pb.js'
import { ApiError } from '../../core/errors.ts'
import { every } from '../../core/every.ts'
import { limits } from '../../core/limits.ts'
import { type Tracer, traceJob } from '../../core/tracer.ts'
import { rootOf } from '../../core/uid.ts'
import type { Reader } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import type { Outbound } from '../../sts/outbound.ts'
import type { DocumentReader } from '../document-reader.ts'
import { DownloadError, type DownloadLimits } from './download.ts'
import { dueFeeds, giveFeedBack, hasFeed, keepFeed, type TakenFeed, takeFeed } from './feed-rows.ts'
import { FeedProblem, runFeed, Stopped } from './feed-run.ts'
import { type Counts, type ImportSummary, importSummary } from './import-summary.ts'
import { dueAfterFailure, dueAfterSuccess } from './schedule.ts'

/** Reads feeds when they are due, whichever node comes first, until it is stopped. */

export interface FeedScheduler {
  /** Ends runs after the document that they are at; another node goes on with them at once. */
  stop(): Promise<void>
}

export interface FeedSchedulerOptions {
  readonly store: Store
  readonly reader: DocumentReader
  readonly outbound: Pick<Outbound, 'getStream'>
  /** For what is fetched. */
  readonly directory: string
  readonly bounds?: DownloadLimits
  readonly pollMs?: number | undefined
  readonly leaseMs?: number | undefined
  readonly tracer?: Tracer | undefined
  /** Hears what every run came to. */
  readonly onRun: (run: EndedRun) => void
  /** Hears what no feed is to blame for. */
  readonly onError: (error: unknown, feed?: string) => void
}

export interface EndedRun {
  readonly feed: string
  readonly outcome: 'succeeded' | 'unchanged' | 'failed'
  readonly counts: Counts & { readonly skipped: number }
  /** Why it failed, or ''. */
  readonly error: string
}

export function feedScheduler(options: FeedSchedulerOptions): FeedScheduler {
  const { store, onRun, onError } = options
  const { pollMs = limits.feedPollMs, leaseMs = limits.feedLeaseMs } = options
  const { db, clock } = store
  const stopping = new AbortController()
  /** By run: the organization of its feed. */
  const running = new Map<Promise<void>, string>()
  const isFull = (organization: string) =>
    [...running.values()].filter((one) => one === organization).length >= limits.feedsAtOncePerOrganizationMax

  const look = async () => {
    const free = limits.feedsAtOnceMax - running.size
    if (free <= 0) return
    const full = [...new Set(running.values())].filter(isFull)
    for (const uid of await dueFeeds(db, clock(), { max: free, except: full })) {
      if (stopping.signal.aborted) return
      if (isFull(rootOf(uid))) continue
      const feed = await takeFeed(db, uid, clock(), leaseMs)
      if (feed === undefined) continue
      const work = run(feed).catch((error: unknown) => onError(error, uid))
      running.set(work, rootOf(uid))
      void work.finally(() => running.delete(work))
    }
  }

  const run = async (feed: TakenFeed) => {
    const end = new AbortController()
    const signal = AbortSignal.any([stopping.signal, end.signal])
    const summary = importSummary(limits.feedRejectionsMax)
    const keep = async () => {
      const changed = { lease_ms: clock() + leaseMs, ...countsOf(summary) }
      if (!(await keepFeed(db, feed, changed))) end.abort(new Stopped())
    }
    const keeping = every(leaseMs / 3, keep, (error) => onError(error, feed.uid))
    try {
      await traceJob(options.tracer, 'job advisory-feed', () => attempt(feed, summary, signal))
    } finally {
      await keeping.stop()
    }
  }

  const attempt = async (feed: TakenFeed, summary: ImportSummary, signal: AbortSignal) => {
    const goOn = async (tx: Reader = db.kysely) => {
      signal.throwIfAborted()
      if (!(await hasFeed(tx, feed))) throw new Stopped()
    }
    const { interval_ms: intervalMs } = feed
    const told = (outcome: EndedRun['outcome'], error = '') =>
      onRun({ feed: feed.uid, outcome, error, counts: { ...summary.total(), skipped: summary.skipped() } })
    try {
      const version = await runFeed(feed, {
        ...options,
        bounds: options.bounds ?? limits,
        requestId: `feed-${feed.runner}`,
        summary,
        goOn,
        signal,
      })
      const now = clock()
      await giveFeedBack(db, feed, {
        due_ms: dueAfterSuccess({ now, intervalMs, chance: Math.random() }),
        succeeded_ms: now,
        failures: 0,
        error: '',
        ...(version && { etag: version.etag, last_modified: version.lastModified }),
        ...countsOf(summary),
      })
      told(version === undefined ? 'unchanged' : 'succeeded')
    } catch (error) {
      if (signal.aborted || error instanceof Stopped) {
        // Still due: whoever looks next begins again, and finds what was done done.
        await giveFeedBack(db, feed, countsOf(summary))
        return
      }
      const reason = reasonOf(error)
      if (reason === undefined) onError(error, feed.uid)
      const failures = feed.failures + 1
      const retryAfterMs = error instanceof DownloadError ? error.retryAfterMs : 0
      await giveFeedBack(db, feed, {
        due_ms: dueAfterFailure({ now: clock(), failures, retryAfterMs, chance: Math.random() }),
        failures,
        error: reason ?? 'the server could not do its part; its log tells why',
        ...countsOf(summary),
      })
      told('failed', reason)
    }
  }

  const looking = every(pollMs, look, (error) => onError(error))

  return {
    async stop() {
      stopping.abort(new Stopped())
      await looking.stop()
      await Promise.all(running.keys())
    },
  }
}

/** For whoever reads the feed; undefined for what only the operator may know. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof DownloadError || error instanceof FeedProblem) return error.message
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
