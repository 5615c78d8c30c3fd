import { ensureBackupJob, unlessBackupRuns } from './backup-hold.ts'
import { collectExpiredUploads } from './expired-uploads.ts'
import { collectOrphanedRows } from './orphaned-rows.ts'
import { createTally, type GcOptions, type GcReport } from './run.ts'
import { collectUnlinkedBlobs } from './unlinked-blobs.ts'
import { collectUnreferencedLinks } from './unreferenced-links.ts'
import { collectUntrackedBlobs } from './untracked-blobs.ts'

/**
 * Online garbage collection: deletes unreferenced data from the registry, concurrently with pushes and pulls. It locks a few rows at a
 * time. An acknowledged manifest never loses a blob, whatever the grace period. An interrupted run is completed by the next one.
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
