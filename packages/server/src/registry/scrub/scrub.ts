import { scrubBlobs } from './blobs.ts'
import { scrubLinks } from './links.ts'
import { scrubManifests } from './manifests.ts'
import type { ScrubOptions, ScrubReport } from './run.ts'
import { scrubStore } from './store.ts'

/**
 * Proves that the database and the blob store agree: every stored blob is what its digest says (R33), every manifest too, all that a
 * manifest needs is in its repo, every link leads to bytes, and nothing is stored that nobody knows. Beside a server that works: what
 * looks wrong is looked at once more, since pushes, deletes and collections go on.
 */
export async function scrub(options: ScrubOptions): Promise<ScrubReport> {
  // First: what is repaired on the way has been told of.
  if (options.position === '') await scrubLinks(options)
  const { blobs, bytes, endedAt } = await scrubBlobs(options, options.position)
  if (endedAt !== '') return { blobs, bytes, manifests: 0, position: endedAt }
  const manifests = await scrubManifests(options)
  await scrubStore(options)
  return { blobs, bytes, manifests, position: '' }
}
