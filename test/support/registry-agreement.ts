import type { BlobStore } from '../../src/blobs/store.ts'
import type { Finding } from '../../src/oci/scrub/findings.ts'
import type { ScrubOptions, ScrubReport } from '../../src/oci/scrub/run.ts'
import { scrub } from '../../src/oci/scrub/scrub.ts'
import type { Store } from '../../src/storage/store.ts'

/** The database and the blob store of a registry, compared as `berth admin scrub` does; orphans of any age are told of. */
export async function runScrub(
  {
    berth,
  }: {
    readonly berth: {
      readonly installation: { readonly store: Pick<Store, 'db' | 'clock'> }
      readonly blobs: BlobStore
    }
  },
  options: Partial<ScrubOptions> = {},
): Promise<{ readonly report: ScrubReport; readonly findings: readonly Finding[] }> {
  const findings: Finding[] = []
  const { installation, blobs } = berth
  const report = await scrub({
    store: installation.store,
    blobs,
    repair: false,
    position: '',
    savePosition: async () => {},
    onFinding: (finding) => findings.push(finding),
    orphanAgeMs: Number.NEGATIVE_INFINITY,
    ...options,
  })
  return { report, findings }
}
