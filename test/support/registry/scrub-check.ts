import type { BlobStore } from '@berth/server/registry/blobs/blob-store.ts'
import type { Finding } from '@berth/server/registry/scrub/findings.ts'
import type { ScrubOptions, ScrubReport } from '@berth/server/registry/scrub/run.ts'
import { scrub } from '@berth/server/registry/scrub/scrub.ts'
import type { Store } from '@berth/server/storage/store.ts'

/** The database and the blob store of a registry, compared as `berth admin scrub` does; orphans of any age are reported. */
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
