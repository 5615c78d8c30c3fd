import { join } from 'node:path'
import type { DocumentReader } from '../advisories/documents/document-reader.ts'
import type { DownloadLimits } from '../advisories/feeds/download.ts'
import { startFeedScheduler } from '../advisories/feeds/feed-scheduler.ts'
import type { Config } from '../installation/config.ts'
import type { BlobStore } from '../registry/blobs/blob-store.ts'
import { gcScheduler } from '../registry/gc/scheduler.ts'
import { retentionScheduler } from '../registry/retention/scheduler.ts'
import type { Log } from '../runtime/log.ts'
import type { Outbound } from '../runtime/outbound/outbound.ts'
import type { Tracer } from '../runtime/tracer.ts'
import type { Ballast } from '../storage/engines/sqlite/ballast.ts'
import { startExpiryJob } from '../storage/jobs/delete-expired.ts'
import type { Store } from '../storage/store.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { SigningKeys } from '../tokens/keys/signing-keys.ts'
import { startMail } from './mail.ts'
import type { StopStep } from './stop-order.ts'

/**
 * What runs in the background of a node. One node at a time, which has a lease in the database, reads a feed, applies retention to a
 * repository, collects garbage, or sends an email. Each node deletes expired rows and looks for new signing keys.
 */

const SECOND_MS = 1000

/** Intervals and bounds that tests change. */
export interface JobOverrides {
  /** Between two rounds of deleting expired rows. */
  readonly expiryIntervalMs?: number
  /** Between two looks for signing keys that another node has changed. */
  readonly keysIntervalMs?: number
  /** How often the node looks for due advisory feeds, and how it reads them. */
  readonly feeds?: {
    readonly pollMs?: number
    readonly leaseMs?: number
    readonly bounds?: DownloadLimits
  }
  /** How often the node looks for a due garbage collection. */
  readonly garbageCollection?: { readonly pollMs?: number; readonly leaseMs?: number }
  /** How often the node looks for due retention of repositories. */
  readonly retention?: { readonly pollMs?: number; readonly leaseMs?: number }
  /** How often the node looks for email that is due. */
  readonly mail?: { readonly pollMs?: number }
}

export interface BackgroundJobsOptions {
  readonly config: Config
  readonly authUrl: string
  readonly overrides: JobOverrides
  /** On the connections of background work. */
  readonly background: Store
  readonly keys: SigningKeys
  readonly blobs: BlobStore
  readonly ballast: Ballast
  readonly documentReader: DocumentReader
  readonly feedOutbound: Outbound
  readonly metrics: Metrics
  readonly tracer: Tracer | undefined
  readonly log: Log
}

/** Starts the jobs; returns the steps that stop them. */
export function startBackgroundJobs({
  config,
  authUrl,
  overrides,
  background,
  keys,
  blobs,
  ballast,
  documentReader,
  feedOutbound,
  metrics,
  tracer,
  log,
}: BackgroundJobsOptions): readonly StopStep[] {
  const feeds = startFeedScheduler({
    ...overrides.feeds,
    store: background,
    tracer,
    reader: documentReader,
    outbound: feedOutbound,
    directory: join(config.dataDir, 'downloads'),
    onRun({ feed, outcome, counts, error }) {
      const { documents: accepted, rejected, skipped } = counts
      metrics.recordFeedRun(outcome, { accepted, rejected, skipped })
      metrics.recordJobRun('advisory_feeds', outcome === 'failed' ? 'failed' : 'succeeded')
      if (outcome === 'failed') log.warn({ feed, error, ...counts }, 'reading an advisory feed failed')
      else log.info({ feed, outcome, ...counts }, 'read an advisory feed')
    },
    onError: (err, feed) => log.error({ err, feed }, 'reading advisory feeds failed; retrying'),
  })
  const retention = retentionScheduler({
    ...overrides.retention,
    store: background,
    tracer,
    onRun({ repo, outcome, counts }) {
      metrics.recordRetentionRun(outcome, counts)
      metrics.recordJobRun('retention', outcome)
      log.info({ repo, outcome, ...counts }, 'retention ran in a repository')
    },
    onError: (err, repo) => log.error({ err, repo }, 'retention failed; retrying'),
  })
  const expiryJob = startExpiryJob({
    ...background,
    tracer,
    auditRetentionMs: config.auditRetentionMs,
    intervalMs: overrides.expiryIntervalMs,
    onFailed(err) {
      metrics.recordJobRun('expiry', 'failed')
      log.error({ err }, 'deleting expired rows failed; retrying')
    },
    onError: (err) => log.error({ err }, 'the job that deletes expired rows could not be leased; retrying'),
    onDone: () => metrics.recordJobRun('expiry', 'succeeded'),
  })
  const garbageCollection = gcScheduler({
    ...overrides.garbageCollection,
    store: background,
    tracer,
    blobs,
    ballast,
    intervalMs: config.gcIntervalMs,
    graceMs: config.gcGraceMs,
    onRun(run) {
      const seconds = run.durationMs / SECOND_MS
      metrics.recordJobRun('collection', run.outcome)
      if (run.outcome === 'failed') {
        metrics.recordGarbageCollection(run.outcome, run.durationMs, {})
        return log.error({ err: run.error, seconds }, 'garbage collection failed')
      }
      const { organizations: _, ...deleted } = run.report
      metrics.recordGarbageCollection(run.outcome, run.durationMs, deleted)
      log.info({ ...deleted, seconds }, 'garbage collection finished')
    },
    onError: (err) => log.error({ err }, 'garbage collection could not run; retrying'),
  })
  const mail =
    config.smtp &&
    startMail({ ...overrides.mail, smtp: config.smtp, store: background, authUrl, metrics, tracer, log })
  const signingKeysWatcher = keys.watch({
    intervalMs: overrides.keysIntervalMs,
    onError(err) {
      metrics.recordJobRun('signing_keys', 'failed')
      log.warn({ err }, 'looking for new signing keys failed; retrying')
    },
    onDone: () => metrics.recordJobRun('signing_keys', 'succeeded'),
  })
  return [
    // Early: other nodes take over their leases.
    { name: 'advisory feeds', run: () => feeds.stop(), early: true },
    { name: 'garbage collection', run: () => garbageCollection.stop(), early: true },
    { name: 'retention', run: () => retention.stop(), early: true },
    { name: 'email', run: () => mail?.stop(), early: true },
    { name: 'expiry', run: () => expiryJob.stop(), early: true },
    { name: 'signing keys', run: () => signingKeysWatcher.stop() },
  ]
}
