import { isOutcomeUnknown } from '../api/errors.ts'
import { rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { BlobStore } from '../registry/blobs/blob-store.ts'
import { queueFindingHistory } from '../registry/manifests/finding-history-changes.ts'
import type { Tracer } from '../runtime/tracer.ts'
import { inTransaction, type Tx } from '../storage/db.ts'
import type { JobLease, JobOutcome } from '../storage/jobs/job-leases.ts'
import { type JobDefinition, type JobScheduler, startJobScheduler } from '../storage/jobs/job-scheduler.ts'
import type { ManifestContentsRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { contentsBacklogJob, contentsJob, contentsOutdatedJob } from './contents-job.ts'
import { type ImageReader, UnreadableImage } from './reading/image-reader.ts'
import { findImageSources, openInRepo, subjectsByTag } from './reading/image-sources.ts'
import type { Reading } from './reading/reading.ts'
import { insertPackages, packageRows } from './storing/packages.ts'
import { documentRows, READER_VERSION, replaceContents, reportRows } from './storing/stored-contents.ts'

/** Reads what pushed manifests contain, each on the node that leases it first. A reading is stored whole or not at all. */

export type ReadOutcome = 'read' | 'none' | 'retried' | 'failed'

export interface ReadManifestsOptions {
  readonly store: Store
  readonly blobs: Pick<BlobStore, 'read' | 'pathOf'>
  readonly reader: ImageReader
  readonly pollMs?: number | undefined
  readonly leaseMs?: number | undefined
  readonly tracer?: Tracer | undefined
  /** Writes what follows from new contents, in the transaction that stores them. */
  readonly onStored?: ((tx: Tx, contents: ManifestContentsRow) => Promise<void>) | undefined
  readonly onRun: (run: {
    readonly repo: string
    readonly digest: string
    readonly outcome: ReadOutcome
    readonly reason: string
  }) => void
  readonly onError: (error: unknown, uid?: string) => void
}

export function startReadingManifests(options: ReadManifestsOptions): Pick<JobScheduler, 'stop'> {
  const { store, tracer, onError, pollMs = limits.contentsPollMs, leaseMs = limits.contentsLeaseMs } = options
  const { db, clock } = store
  const shared = {
    leaseMs,
    run: (lease: JobLease) => readManifest(options, lease),
    onFailure(error: unknown, { key }: JobLease, { isInterrupted }: { readonly isInterrupted: boolean }) {
      if (isInterrupted) return {}
      onError(error, key)
      return { dueMs: clock() + limits.contentsRetryMs }
    },
  } satisfies Partial<JobDefinition>
  const schedulers = [
    startJobScheduler(
      { db, clock, tracer, onError },
      {
        ...shared,
        kind: contentsJob,
        span: 'job image-contents',
        pollMs,
        concurrency: limits.contentsConcurrencyMax,
        concurrencyPerOrganization: limits.contentsConcurrencyPerOrganizationMax,
      },
    ),
    ...[contentsBacklogJob, contentsOutdatedJob].map((kind) =>
      startJobScheduler(
        { db, clock, tracer, onError },
        {
          ...shared,
          kind,
          span: `job ${kind.name}`,
          pollMs: Math.max(pollMs, limits.contentsBacklogPollMs),
        },
      ),
    ),
  ]
  return {
    async stop() {
      await Promise.all(schedulers.map((scheduler) => scheduler.stop()))
    },
  }
}

async function readManifest(options: ReadManifestsOptions, lease: JobLease): Promise<JobOutcome> {
  const { store, blobs, reader } = options
  const { db } = store
  const row = await startAttempt(options, lease)
  if (row === undefined) return {}
  const { repo, digest } = row
  try {
    const sources = await findImageSources(db, repo, digest)
    // A node of the previous release deleted the manifest, but not its row: the sweep deletes it.
    if (sources === undefined) return end(options, row, 'none', { state: 'none' })
    const reading = await reader.read(sources, openInRepo(db, blobs, repo), lease.signal)
    return await storeReading(options, row, reading)
  } catch (error) {
    // The next node continues.
    if (lease.signal.aborted || isOutcomeUnknown(error)) throw error
    return failedAttempt(options, row, error)
  }
}

/** Counts the attempt before it starts, so that an image that ends its node is not read for ever. */
async function startAttempt(
  { store: { db } }: ReadManifestsOptions,
  lease: JobLease,
): Promise<ManifestContentsRow | undefined> {
  const count = async (tx: Tx) => {
    await lease.renew(tx)
    return tx
      .updateTable('manifest_contents')
      .set((row) => ({ attempts: row('attempts', '+', 1) }))
      .where('root', '=', rootOf(lease.key))
      .where('uid', '=', lease.key)
      .returningAll()
      .executeTakeFirst()
  }
  // The image may end the whole machine.
  return inTransaction(db, count, { mayBeLost: false })
}

async function storeReading(
  options: ReadManifestsOptions,
  row: ManifestContentsRow,
  reading: Reading,
): Promise<JobOutcome> {
  const { db } = options.store
  if (reading.kind === 'none') {
    const subjects = [...reading.subjects, ...(await subjectsByTag(db, row.repo, row.digest))]
    return end(options, row, 'none', { state: 'none' }, (tx) =>
      readSubjectsAgain(options, tx, row, { ...reading, subjects }),
    )
  }
  const { contents, source, format, statements } = reading
  const packages = packageRows(row.root, contents)
  await insertPackages(db, packages)
  const documents = await documentRows(row, reading)
  const reports = await reportRows(db, row, reading)
  const { distribution } = contents
  const changes = {
    state: 'read',
    source,
    format,
    distribution_id: distribution?.id ?? '',
    distribution_version: distribution?.versionId ?? '',
    distribution_name: distribution?.name ?? '',
    support_end_ms: distribution?.supportEndMs ?? 0,
    packages: packages.size,
    problems: contents.problems.length,
  }
  return end(options, row, 'read', changes, (tx) =>
    replaceContents(db, tx, row, packages, { documents, statements, reports }),
  )
}

/** The images that a manifest describes are read again. Manifests that are no images describe nothing more: this ends. */
async function readSubjectsAgain(
  { store: { clock } }: ReadManifestsOptions,
  tx: Tx,
  { root, repo }: ManifestContentsRow,
  { subjects, isAboutIndexes }: Pick<Extract<Reading, { kind: 'none' }>, 'subjects' | 'isAboutIndexes'>,
): Promise<void> {
  const inRepo = tx
    .updateTable('manifest_contents')
    .set({ state: 'pending', attempts: 0, due_ms: clock() })
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('state', '<>', 'none')
  for (const digest of [...new Set(subjects)].sort()) {
    await inRepo.where('digest', '=', digest).execute()
    if (!isAboutIndexes) continue
    const images = tx
      .selectFrom('manifest_references')
      .select('digest')
      .where('root', '=', root)
      .where('repo', '=', repo)
      .where('manifest', '=', digest)
      .where('kind', '=', 'manifest')
    await inRepo.where('digest', 'in', images).execute()
  }
}

function failedAttempt(options: ReadManifestsOptions, row: ManifestContentsRow, error: unknown): JobOutcome {
  const { store, onError, onRun } = options
  const isKnown = error instanceof UnreadableImage
  if (!isKnown) onError(error, row.uid)
  const reason = isKnown ? error.message : 'of an internal error; the server log has the details'
  const isTemporary = !isKnown || error.isTemporary
  if (!isTemporary || row.attempts >= limits.contentsAttemptsMax)
    return end(options, row, 'failed', { state: 'failed', reason })
  return {
    dueMs: store.clock() + limits.contentsRetryMs * 2 ** (row.attempts - 1),
    failure: reason,
    afterRelease: () => onRun({ repo: row.repo, digest: row.digest, outcome: 'retried', reason }),
  }
}

function end(
  { store: { db, clock }, onStored, onRun }: ReadManifestsOptions,
  row: ManifestContentsRow,
  outcome: ReadOutcome,
  changes: Partial<ManifestContentsRow> & Pick<ManifestContentsRow, 'state'>,
  write?: (tx: Tx) => Promise<void>,
): JobOutcome {
  const { root, uid, repo, digest } = row
  return {
    async write(tx, { isRescheduled }) {
      // What became due again while it was read stays due.
      const state = isRescheduled ? 'pending' : changes.state
      await write?.(tx)
      const stored = await tx
        .updateTable('manifest_contents')
        .set({
          reason: '',
          ...changes,
          state,
          attempts: 0,
          reader: READER_VERSION,
          ...(outcome === 'failed' ? {} : { read_ms: clock() }),
        })
        .where('root', '=', root)
        .where('uid', '=', uid)
        .returningAll()
        .executeTakeFirstOrThrow()
      await queueFindingHistory(db, tx, root, 'image', [stored.id], clock())
      if (outcome === 'read') await onStored?.(tx, stored)
    },
    ...(outcome === 'failed' ? { failure: changes.reason ?? '' } : {}),
    afterRelease: () => onRun({ repo, digest, outcome, reason: changes.reason ?? '' }),
  }
}
