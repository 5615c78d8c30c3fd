import type { Manifest } from './descriptors.ts'
import { fallbackTag, type ImageStore, manifestIfThere } from './image-store.ts'

/** Signatures, attestations and bills of materials where they were before there were referrers: under tags made of the digest. */

const kinds = ['sig', 'att', 'sbom'] as const

export async function* taggedReferrers(
  store: ImageStore,
  subject: string,
): AsyncGenerator<{ readonly tag: string; readonly manifest: Manifest }> {
  for (const kind of kinds) {
    const tag = `${fallbackTag(subject)}.${kind}`
    const manifest = await manifestIfThere(store, tag)
    if (manifest !== undefined) yield { tag, manifest }
  }
}
