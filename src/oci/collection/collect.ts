import { planBackup, unlessHeld } from './hold.ts'
import { collectLinks } from './links.ts'
import { collectOrphans } from './orphans.ts'
import { type CollectionOptions, type CollectionReport, newTally } from './run.ts'
import { collectStrays } from './strays.ts'
import { collectUnlinked } from './unlinked.ts'
import { collectUploads } from './uploads.ts'

/**
 * Online collection: takes what nobody needs from the registry, beside pushes and pulls. It holds a few rows at a time; a manifest, once
 * acknowledged, never loses a blob to it, whatever the grace. A run that is cut short loses nothing: the next one finds what is left.
 */
export async function collect(options: CollectionOptions): Promise<CollectionReport> {
  const nowMs = options.store.clock()
  const run = { ...options, nowMs, cutoffMs: nowMs - options.graceMs, tally: newTally() }
  if (!run.dryRun) await planBackup(run.store.db)
  await collectOrphans(run)
  await collectLinks(run)
  const removed = await unlessHeld(() => collectUnlinked(run))
  await collectUploads(run)
  if (!(await unlessHeld(() => collectStrays(run))) || !removed) run.onHeld?.()
  return run.tally.report()
}
