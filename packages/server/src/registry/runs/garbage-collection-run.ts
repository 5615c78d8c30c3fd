import { type Ballast, noBallast } from '../../storage/engines/sqlite/ballast.ts'
import { acquireJob, type JobLease, releaseOnFailure, workAndRelease } from '../../storage/jobs/job-leases.ts'
import { collectGarbage } from '../gc/garbage-collection.ts'
import { type GcOptions, type GcReport, gcKinds } from '../gc/run.ts'
import { gcJob } from '../jobs.ts'
import { type RecordedRun, type RunControl, type RunTotals, startRecordedRun } from './recorded-run.ts'

/** Garbage collection as a recorded run, for the schedule, `berth admin collect` and the operator API. */

export interface GcRunOptions extends GcOptions {
  /** Disk space that is released for garbage collection when the disk is full. */
  readonly ballast: Ballast
  /** uid of the identity that started it, or `system`. */
  readonly actor: string
  readonly onError: (error: unknown) => void
}

/** Leases garbage collection; undefined while another process runs it. */
export function leaseGarbageCollection({
  store: { db, clock },
  ballast,
  onError,
}: Pick<GcRunOptions, 'store' | 'ballast' | 'onError'>): Promise<JobLease | undefined> {
  return ballast.run(() => acquireJob({ db, clock, onError }, gcJob))
}

/**
 * Collects garbage and records it. The caller has the lease of the job, unless it is a dry run.
 * `onCollected`: called before the run ends, also when it fails.
 */
export async function collectRecorded(
  options: GcRunOptions,
  started?: RecordedRun,
  onCollected?: () => void,
): Promise<GcReport> {
  const run = started ?? (await startCollection(options))
  return collectIn(run, options, (collect) => collect().finally(onCollected))
}

/** Collects garbage under a lease and records it. The lease is released before the run ends, so that the next one can start then. */
export async function collectUnderLease(
  options: GcRunOptions,
  lease: JobLease,
  started?: RecordedRun,
): Promise<GcReport> {
  const { clock } = options.store
  const run = started ?? (await releaseOnFailure(lease, () => startCollection(options)))
  const signals = [lease.signal, ...(options.signal === undefined ? [] : [options.signal])]
  return collectIn(run, { ...options, signal: AbortSignal.any(signals) }, (collect) =>
    workAndRelease(lease, collect, () => ({ succeededMs: clock() })),
  )
}

function startCollection(options: GcRunOptions): Promise<RecordedRun> {
  const { store, dryRun, actor, onError } = options
  const start = () => startRecordedRun(store, { kind: 'collection', dryRun, actor }, onError)
  return ballastFor(options).run(start)
}

/** A dry run frees nothing. */
function ballastFor({ dryRun, ballast }: GcRunOptions): Ballast {
  return dryRun ? noBallast : ballast
}

async function collectIn(
  run: RecordedRun,
  options: GcRunOptions,
  around: (collect: () => Promise<GcReport>) => Promise<GcReport>,
): Promise<GcReport> {
  const { report } = await run.complete(async (control) => {
    const collect = () => collectGarbage({ ...options, ...observed(options, control) })
    const report = await around(() => ballastFor(options).run(collect))
    return { report, totals: totalsOf(report) }
  })
  return report
}

function observed({ signal, onProgress }: GcOptions, control: RunControl) {
  return {
    signal: signal === undefined ? control.signal : AbortSignal.any([signal, control.signal]),
    onProgress: (now: Parameters<NonNullable<GcOptions['onProgress']>>[0]) => {
      onProgress?.(now)
      control.progress({ step: now.step, done: now.seen, total: 0, totals: totalsOf(now.report) })
    },
  } satisfies Partial<GcOptions>
}

function totalsOf(report: GcReport): RunTotals {
  return Object.fromEntries(gcKinds.map((kind) => [kind, report[kind]]))
}
