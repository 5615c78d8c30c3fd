import { ensureBackupJob, unlessBackupRuns } from './backup-hold.ts'
import { collectExpiredUploads } from './expired-uploads.ts'
import { collectOrphanedRows } from './orphaned-rows.ts'
import { createTally, type GcOptions, type GcReport } from './run.ts'
import { collectUnlinkedBlobs } from './unlinked-blobs.ts'
import { collectUnreferencedLinks } from './unreferenced-links.ts'
import { collectUntrackedBlobs } from './untracked-blobs.ts'

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
