import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '../../config/limits.ts'
import { acquireJob, type JobLease, releaseOnFailure, workAndRelease } from '../../storage/jobs/job-leases.ts'
import { scrubJob } from '../jobs.ts'
import type { Finding } from '../scrub/findings.ts'
import type { ScrubOptions, ScrubReport } from '../scrub/run.ts'
import { scrub } from '../scrub/scrub.ts'
import { type RecordedRun, type RunTotals, startRecordedRun } from './recorded-run.ts'

/** Scrub as a recorded run, for `berth admin scrub` and the operator API. */

export interface ScrubRunOptions
  extends Pick<ScrubOptions, 'store' | 'blobs' | 'repair' | 'force' | 'bytesMax' | 'signal'> {
  /** Maximum read rate; undefined: no limit. */
  readonly bytesPerSecond: number | undefined
  /** Continues where the last scrub ended. */
  readonly resume: boolean
  /** uid of the identity that started it, or `system`. */
  readonly actor: string
  readonly onProgress?: (bytes: number, totalBytes: number, damaged: number) => void
  readonly onError: (error: unknown) => void
}

export interface ScrubRunReport extends ScrubReport {
  /** By kind of finding. */
  readonly counts: Readonly<Record<Finding['kind'], number>>
  /** At most `scrubFindingsMax` of each kind. */
  readonly findings: readonly Finding[]
  /** Number of blobs and manifests that are missing, damaged or unreadable. */
  readonly damaged: number
}

/** Leases the scrub; undefined while another process runs it. */
export function leaseScrub({
  store: { db, clock },
  onError,
}: Pick<ScrubRunOptions, 'store' | 'onError'>): Promise<JobLease | undefined> {
  return acquireJob({ db, clock, onError }, scrubJob)
}

/** Scrubs under a lease and records it. The lease is released before the run ends, so that the next one can start then. */
export async function scrubUnderLease(
  options: ScrubRunOptions,
  lease: JobLease,
  started?: RecordedRun,
): Promise<ScrubRunReport> {
  const { store, blobs, repair, force, bytesMax, bytesPerSecond, resume, actor, onError } = options
  const findings = createFindings()
  const start = () => startRecordedRun(store, { kind: 'scrub', dryRun: false, actor }, onError)
  const run = started ?? (await releaseOnFailure(lease, start))
  const { report } = await run.complete(async (control) => {
    const signals = [lease.signal, control.signal, ...(options.signal === undefined ? [] : [options.signal])]
    const scrubbed = () =>
      scrub({
        ...{ store, blobs, repair, force, bytesMax },
        throttle: bytesPerSecond === undefined ? undefined : createThrottle(bytesPerSecond),
        position: resume ? lease.position : '',
        savePosition: lease.savePosition,
        onFinding: findings.add,
        onProgress({ bytes, totalBytes }) {
          options.onProgress?.(bytes, totalBytes, findings.damaged())
          control.progress({ step: 'blobs', done: bytes, total: totalBytes, totals: findings.totals() })
        },
        signal: AbortSignal.any(signals),
        orphanAgeMs: limits.untrackedBlobAgeMsMin,
      })
    const report = await workAndRelease(lease, scrubbed, ({ position }) => ({
      position,
      ...(position === '' && { succeededMs: store.clock() }),
    }))
    const totals = {
      blobs: { count: report.blobs, bytes: report.bytes },
      manifests: { count: report.manifests, bytes: 0 },
      ...findings.totals(),
    }
    return { totals, report, findings: findings.list }
  })
  return {
    ...report,
    counts: findings.counts,
    findings: findings.list,
    damaged: findings.damaged(),
  }
}

/** Waits until the bytes so far match the rate. */
function createThrottle(bytesPerSecond: number): (bytes: number) => Promise<void> {
  let [startMs, sum] = [performance.now(), 0]
  return async (bytes) => {
    sum += bytes
    const aheadMs = (sum / bytesPerSecond) * 1000 - (performance.now() - startMs)
    if (aheadMs > 1) await sleep(aheadMs)
    // Time lost by a slow disk is not made up for.
    else if (aheadMs < -1000) [startMs, sum] = [performance.now(), 0]
  }
}

function createFindings() {
  const counts: Record<Finding['kind'], number> = {
    missing: 0,
    damaged: 0,
    unreadable: 0,
    incomplete: 0,
    orphan: 0,
  }
  const list: Finding[] = []
  return {
    counts,
    list,
    add(finding: Finding) {
      counts[finding.kind]++
      if (counts[finding.kind] <= limits.scrubFindingsMax) list.push(finding)
    },
    damaged: () => counts.missing + counts.damaged + counts.unreadable,
    totals: (): RunTotals =>
      Object.fromEntries(Object.entries(counts).map(([kind, count]) => [kind, { count, bytes: 0 }])),
  }
}
