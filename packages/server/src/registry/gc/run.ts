import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'

/** One garbage collection run: the options and counts that its steps share. */

export interface GcTotal {
  readonly count: number
  readonly bytes: number
}

/**
 * `orphans`: rows of resources that no longer exist, and rows that name an organization in which an identity has no
 * role bindings, an email address no invite, or a repo no copy, any more. `links`: links of repos to blobs that none of their manifests reference. `blobs`:
 * bytes without a link. `uploads`: expired uploads. `strays`: untracked bytes, which have no row in the database, as after a crash.
 */
export const gcKinds = ['orphans', 'links', 'blobs', 'uploads', 'strays'] as const
export type GcKind = (typeof gcKinds)[number]

export interface GcReport extends Readonly<Record<GcKind, GcTotal>> {
  /** Links and uploads by organization. The bytes of links that others have too stay where they are. */
  readonly organizations: readonly GcOrganizationReport[]
}

export interface GcOrganizationReport {
  readonly uid: string
  readonly links: GcTotal
  readonly uploads: GcTotal
}

/** Progress of the current step. */
export interface GcProgress {
  readonly step: GcKind
  readonly seen: number
  readonly report: GcReport
}

export interface GcOptions {
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly blobs: BlobStore
  /** Younger data is kept: a client may be about to push a manifest that references it. */
  readonly graceMs: number
  /** Counts what would be deleted, without deleting it. */
  readonly dryRun: boolean
  /** Does not delete untracked bytes if they are most of the store. */
  readonly requireKnownStore: boolean
  /** Ends the run after its current batch. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: GcProgress) => void) | undefined
  /** Called if stored bytes were not deleted because a backup is running; the next run deletes them. */
  readonly onBackupRunning?: (() => void) | undefined
}

export interface GcRun extends GcOptions {
  readonly nowMs: number
  /** Links that were created or refreshed at or before this time are old enough. */
  readonly cutoffMs: number
  readonly tally: GcTally
}

export interface GcTally {
  count(kind: GcKind, bytes: number, root?: string): void
  report(): GcReport
}

export function createTally(): GcTally {
  type Sum = { count: number; bytes: number }
  const sum = (): Sum => ({ count: 0, bytes: 0 })
  const total = { orphans: sum(), links: sum(), blobs: sum(), uploads: sum(), strays: sum() }
  const organizations = new Map<string, { links: Sum; uploads: Sum }>()
  const add = (to: Sum, bytes: number) => {
    to.count++
    to.bytes += bytes
  }
  return {
    count(kind, bytes, root) {
      add(total[kind], bytes)
      if (root === undefined || (kind !== 'links' && kind !== 'uploads')) return
      const own = organizations.get(root) ?? { links: sum(), uploads: sum() }
      organizations.set(root, own)
      add(own[kind], bytes)
    },
    report: () => ({
      orphans: { ...total.orphans },
      links: { ...total.links },
      blobs: { ...total.blobs },
      uploads: { ...total.uploads },
      strays: { ...total.strays },
      organizations: [...organizations]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([uid, { links, uploads }]) => ({ uid, links: { ...links }, uploads: { ...uploads } })),
    }),
  }
}

/** Rows per statement, and per transaction, which others wait for a few milliseconds. */
export const ROWS_PER_READ = 1000
export const ROWS_PER_TRANSACTION = 100
/** Pause between two transactions for other writers: SQLite has one at a time. */
const PAUSE_MS = 5

/** Called after each batch. Throws the signal's reason if the run must end. */
export async function pauseBetweenBatches({ signal, dryRun }: GcRun, deleted: number): Promise<void> {
  signal?.throwIfAborted()
  if (deleted > 0 && !dryRun) await sleep(PAUSE_MS)
}

export function* batches<T>(all: readonly T[], size = ROWS_PER_TRANSACTION): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size)
}
