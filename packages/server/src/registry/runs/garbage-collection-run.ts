import { acquireJob, type JobLease } from '../../storage/jobs/job-leases.ts'
import { collectGarbage } from '../gc/garbage-collection.ts'
import { type GcOptions, type GcReport, gcKinds } from '../gc/run.ts'
import { gcJob } from '../jobs.ts'
import { type RecordedRun, type RunControl, type RunTotals, startRecordedRun } from './recorded-run.ts'

/** Garbage collection as a recorded run, for the schedule, `berth admin collect` and the operator API. */

export interface GcRunOptions extends GcOptions {
  /** uid of the identity that started it, or `system`. */
  readonly actor: string
  readonly onError: (error: unknown) => void
}

/** Collects garbage and records it. The caller has the lease of the job, unless it is a dry run. */
export async function collectRecorded(options: GcRunOptions, started?: RecordedRun): Promise<GcReport> {
  const { store, dryRun, actor, onError } = options
  const run = started ?? (await startRecordedRun(store, { kind: 'collection', dryRun, actor }, onError))
  const { report } = await run.complete(async (control) => {
    const report = await collectGarbage({ ...options, ...observed(options, control) })
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

/** Leases garbage collection; undefined while another process runs it. */
export function leaseGarbageCollection({
  store: { db, clock },
  onError,
}: Pick<GcRunOptions, 'store' | 'onError'>): Promise<JobLease | undefined> {
  return acquireJob({ db, clock, onError }, gcJob)
}

/** Collects garbage under a lease, and releases it. */
export async function collectUnderLease(
  options: GcRunOptions,
  lease: JobLease,
  started?: RecordedRun,
): Promise<GcReport> {
  const { clock } = options.store
  const signals = [lease.signal, ...(options.signal === undefined ? [] : [options.signal])]
  try {
    const report = await collectRecorded({ ...options, signal: AbortSignal.any(signals) }, started)
    await lease.release({ succeededMs: clock() })
    return report
  } catch (error) {
    await lease.release()
    throw error
  }
}
