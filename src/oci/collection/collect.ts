import { ensureBackupJob, unlessBackupRuns } from './hold.ts'
import { collectUnreferencedLinks } from './links.ts'
import { collectOrphanedRows } from './orphans.ts'
import { createTally, type GcOptions, type GcReport } from './run.ts'
import { collectUntrackedBlobs } from './strays.ts'
import { collectUnlinkedBlobs } from './unlinked.ts'
import { collectExpiredUploads } from './uploads.ts'

/**
 * Online collection: takes what nobody needs from the registry, beside pushes and pulls. It holds a few rows at a time; a manifest, once
 * acknowledged, never loses a blob to it, whatever the grace. A run that is cut short loses nothing: the next one finds what is left.
 */
export async function collectGarbage(options: GcOptions): Promise<GcReport> {
  const nowMs = options.store.clock()
  const run = { ...options, nowMs, cutoffMs: nowMs - options.graceMs, tally: createTally() }
  if (!run.dryRun) await ensureBackupJob(run.store.db)
  await collectOrphanedRows(run)
  await collectUnreferencedLinks(run)
  const removed = await unlessBackupRuns(() => collectUnlinkedBlobs(run))
  await collectExpiredUploads(run)
  if (!(await unlessBackupRuns(() => collectUntrackedBlobs(run))) || !removed) run.onBackupRunning?.()
  return run.tally.report()
}
