import { scrubBlobs } from './blobs.ts'
import { scrubLinks } from './links.ts'
import { scrubManifests } from './manifests.ts'
import type { ScrubOptions, ScrubReport } from './run.ts'
import { scrubStore } from './store.ts'

/**
 * Verifies that the database and the blob store agree: every stored blob and manifest matches its digest (R33), the references of a
 * manifest are in its repo, every link has bytes, and no bytes are untracked. The server can keep running: problems are checked twice,
 * since pushes, deletions and garbage collection continue.
 */
export async function scrub(options: ScrubOptions): Promise<ScrubReport> {
  // First, before repairs remove rows of bytes that are reported later.
  if (options.position === '') await scrubLinks(options)
  const { blobs, bytes, endedAt } = await scrubBlobs(options, options.position)
  if (endedAt !== '') return { blobs, bytes, manifests: 0, position: endedAt }
  const manifests = await scrubManifests(options)
  await scrubStore(options)
  return { blobs, bytes, manifests, position: '' }
}
