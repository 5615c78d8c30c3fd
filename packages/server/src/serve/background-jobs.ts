import { join } from 'node:path'
import type { DocumentReader } from '../advisories/documents/document-reader.ts'
import type { DownloadLimits } from '../advisories/feeds/download.ts'
import { feedJob } from '../advisories/feeds/feed-job.ts'
import { startFeedScheduler } from '../advisories/feeds/feed-scheduler.ts'
import { recordIndexJob, startRecordIndexJob } from '../advisories/search/words/record-index-job.ts'
import {
  contentsBacklogJob,
  contentsJob,
  contentsOutdatedJob,
  contentsSweepJob,
} from '../contents/contents-job.ts'
import { startReadingManifests } from '../contents/read-manifests.ts'
import type { ImageReader } from '../contents/reading/image-reader.ts'
import { startContentsSweep } from '../contents/sweep.ts'
import { findingsJob, startFindingJob } from '../findings/finding-job.ts'
import { findingHistoryJob, startFindingHistoryJob } from '../findings/history/history-job.ts'
import type { Config } from '../installation/config.ts'
import { mailJob } from '../mail/outbox.ts'
import type { BlobStore } from '../registry/blobs/blob-store.ts'
import { gcScheduler } from '../registry/gc/scheduler.ts'
import { backupJob, gcJob, retentionJob, scrubJob, usageJob } from '../registry/jobs.ts'
import { retentionScheduler } from '../registry/retention/scheduler.ts'
import { startUsageRecorder } from '../registry/usage/usage-recorder.ts'
import type { Log } from '../runtime/log.ts'
import type { Outbound } from '../runtime/outbound/outbound.ts'
import type { Tracer } from '../runtime/tracer.ts'
import { signaturesJob, startSignatureJob } from '../signatures/signature-job.ts'
import { repeatableWork } from '../storage/db.ts'
import type { Ballast } from '../storage/engines/sqlite/ballast.ts'
import { expiryJob, startExpiryJob } from '../storage/jobs/delete-expired.ts'
import type { JobKind } from '../storage/jobs/job-leases.ts'
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
  /** Between two records of what organizations use. */
  readonly usageIntervalMs?: number
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
  /** Between two looks for packages and advisories to match. */
  readonly findingsPollMs?: number
  /** How often the node looks for records to add to the index of words, and the limits of the index. */
  readonly recordIndex?: {
    readonly pollMs?: number
    /** Records of a group without a segment above which they get one. */
    readonly min?: number
    readonly segmentRecords?: number
    readonly unindexedMax?: number
  }
  /** From a change of the findings of a tag to a point of its history. */
  readonly findingHistoryDelayMs?: number
  /** Between two looks for images whose signatures changed. */
  readonly signaturesPollMs?: number
  /** After which another node continues the findings or signatures of a node that died. */
  readonly queueLeaseMs?: number
  /** How often the node looks for email that is due. */
  readonly mail?: { readonly pollMs?: number }
  /** How often the node looks for images to read, and for manifests that are not queued. */
  readonly contents?: {
    readonly pollMs?: number
    readonly leaseMs?: number
    readonly sweepIntervalMs?: number
  }
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
  readonly imageReader: ImageReader
  readonly feedOutbound: Outbound
  readonly metrics: Metrics
  readonly tracer: Tracer | undefined
  readonly log: Log
}

/** Every kind of job of a server and of `berth admin`. */
export const jobKinds: readonly JobKind[] = [
  feedJob,
  retentionJob,
  gcJob,
  expiryJob,
  usageJob,
  mailJob,
  findingsJob,
  findingHistoryJob,
  recordIndexJob,
  signaturesJob,
  contentsJob,
  contentsBacklogJob,
  contentsOutdatedJob,
  contentsSweepJob,
  scrubJob,
  backupJob,
]

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
  imageReader,
  feedOutbound,
  metrics,
  tracer,
  log,
}: BackgroundJobsOptions): readonly StopStep[] {
  // Jobs that store a result and what is due in one transaction.
  const repeatable: Store = { ...background, db: repeatableWork(background.db) }
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
  const expiry = startExpiryJob({
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
  const usage = startUsageRecorder({
    ...background,
    tracer,
    intervalMs: overrides.usageIntervalMs,
    onRun(outcome, err) {
      metrics.recordJobRun('usage', outcome)
      if (outcome === 'failed') log.error({ err }, 'recording usage failed; retrying')
    },
    onError: (err) => log.error({ err }, 'the job that records usage could not be leased; retrying'),
  })
  const findings = startFindingJob({
    ...background,
    pollMs: overrides.findingsPollMs,
    leaseMs: overrides.queueLeaseMs,
    tracer,
    onRun(outcome, err) {
      metrics.recordJobRun('findings', outcome)
      if (outcome === 'failed') log.error({ err }, 'matching packages with advisories failed; retrying')
    },
  })
  const findingHistory = startFindingHistoryJob({
    ...background,
    pollMs: overrides.findingsPollMs,
    delayMs: overrides.findingHistoryDelayMs,
    leaseMs: overrides.queueLeaseMs,
    tracer,
    onRun(outcome, err) {
      metrics.recordJobRun('finding_history', outcome)
      if (outcome === 'failed') log.error({ err }, 'recording the findings of tags failed; retrying')
    },
  })
  const recordIndex = startRecordIndexJob({
    ...background,
    ...overrides.recordIndex,
    leaseMs: overrides.queueLeaseMs,
    tracer,
    onRun(outcome, err) {
      metrics.recordJobRun('record_index', outcome)
      if (outcome === 'failed') log.error({ err }, 'indexing the texts of vulnerabilities failed; retrying')
    },
  })
  const signatures = startSignatureJob({
    ...repeatable,
    blobs,
    pollMs: overrides.signaturesPollMs,
    leaseMs: overrides.queueLeaseMs,
    tracer,
    onRun(outcome, err) {
      metrics.recordJobRun('image_signatures', outcome)
      if (outcome === 'failed') log.error({ err }, 'verifying signatures of images failed; retrying')
    },
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
  const contents = startReadingManifests({
    ...overrides.contents,
    store: repeatable,
    blobs,
    reader: imageReader,
    tracer,
    onRun({ outcome, ...run }) {
      metrics.recordJobRun(
        'image_contents',
        outcome === 'read' || outcome === 'none' ? 'succeeded' : 'failed',
      )
      if (outcome === 'failed') log.warn(run, 'an image could not be read')
      else log.debug({ outcome, ...run }, 'read a manifest')
    },
    onError: (err, manifest) => log.error({ err, manifest }, 'reading images failed; retrying'),
  })
  const contentsSweep = startContentsSweep({
    store: repeatable,
    tracer,
    intervalMs: overrides.contents?.sweepIntervalMs,
    onError: (err) => log.error({ err }, 'looking for images to read failed; retrying'),
  })
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
    { name: 'image contents', run: () => contents.stop(), early: true },
    { name: 'image contents sweep', run: () => contentsSweep.stop(), early: true },
    { name: 'expiry', run: () => expiry.stop(), early: true },
    { name: 'findings', run: () => findings.stop(), early: true },
    { name: 'finding history', run: () => findingHistory.stop(), early: true },
    { name: 'record index', run: () => recordIndex.stop(), early: true },
    { name: 'image signatures', run: () => signatures.stop(), early: true },
    { name: 'usage', run: () => usage.stop(), early: true },
    { name: 'signing keys', run: () => signingKeysWatcher.stop() },
  ]
}
