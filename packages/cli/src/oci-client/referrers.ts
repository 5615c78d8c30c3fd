import type { Manifest } from './descriptors.ts'
import { findManifest, type ImageStore, referrersTag } from './image-store.ts'

/** Tags with signatures, attestations and SBOMs from before the referrers API: they are derived from the digest. */

const tagSuffixes = ['sig', 'att', 'sbom'] as const

export async function* listTaggedReferrers(
  store: ImageStore,
  subject: string,
): AsyncGenerator<{ readonly tag: string; readonly manifest: Manifest }> {
  for (const kind of tagSuffixes) {
    const tag = `${referrersTag(subject)}.${kind}`
    const manifest = await findManifest(store, tag)
    if (manifest !== undefined) yield { tag, manifest }
  }
}
