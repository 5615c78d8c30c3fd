import type { StorageRun } from '@berth/client'
import { formatBytes, formatNumber, plural } from '../../components/quantity.tsx'

/** Runs of garbage collection and scrub, in words. */

export function kindOf({ kind, dryRun }: Pick<StorageRun, 'kind' | 'dryRun'>): string {
  if (kind === 'STORAGE_RUN_KIND_SCRUB') return 'scrub'
  return dryRun ? 'garbage collection (dry run)' : 'garbage collection'
}

/** What was counted, by kind. */
export const totalTexts: Readonly<Record<string, string>> = {
  orphans: 'Rows of deleted resources',
  links: 'Blobs of repositories that no manifest references',
  blobs: 'Blobs',
  uploads: 'Expired uploads',
  strays: 'Stored files that the database does not know',
  manifests: 'Manifests',
  missing: 'Missing',
  damaged: 'Damaged',
  unreadable: 'Unreadable',
  incomplete: 'Indexes without a manifest',
  orphan: 'Untracked files',
}

const damage: ReadonlySet<string> = new Set(['missing', 'damaged', 'unreadable'])

export function summaryOf({ kind, dryRun, totals }: StorageRun): {
  readonly text: string
  readonly isBad: boolean
} {
  const countOf = (name: string) => Number(totals.find((one) => one.kind === name)?.count ?? 0)
  if (kind === 'STORAGE_RUN_KIND_SCRUB') {
    const damaged = totals.reduce((sum, one) => sum + (damage.has(one.kind) ? Number(one.count) : 0), 0)
    if (damaged > 0) return { text: `${formatNumber(damaged)} damaged`, isBad: true }
    return { text: `${plural(countOf('blobs'), 'blob')}, no damage`, isBad: false }
  }
  const bytes = totals.filter((one) => one.kind !== 'links').reduce((sum, one) => sum + Number(one.bytes), 0)
  const count = totals.reduce((sum, one) => sum + Number(one.count), 0)
  if (count === 0) return { text: 'nothing to delete', isBad: false }
  const verb = dryRun ? 'would delete' : 'deleted'
  return { text: `${verb} ${plural(count, 'item')}, ${formatBytes(bytes)}`, isBad: false }
}
