import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../storage/store.ts'
import type { BlobStore } from '../blobs/blob-store.ts'

/** One collection: what its steps work with, and what they count. */

export interface GcTotal {
  readonly count: number
  readonly bytes: number
}

/**
 * `orphans`: resources that do not exist, of which other tables still have rows; `links`: of repos, to blobs that no manifest of theirs needs; `blobs`: bytes that no repo has a link to any more; `uploads` that are
 * over; `strays`: bytes that the database does not know, as a crash leaves them.
 */
export const gcKinds = ['orphans', 'links', 'blobs', 'uploads', 'strays'] as const
export type GcKind = (typeof gcKinds)[number]

export interface GcReport extends Readonly<Record<GcKind, GcTotal>> {
  /** Links and uploads of each organization that had some. Bytes of links that others have too stay where they are. */
  readonly organizations: readonly GcOrganizationReport[]
}

export interface GcOrganizationReport {
  readonly uid: string
  readonly links: GcTotal
  readonly uploads: GcTotal
}

/** What was gone through so far, of the step that is at work. */
export interface GcProgress {
  readonly step: GcKind
  readonly seen: number
  readonly report: GcReport
}

export interface GcOptions {
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly blobs: BlobStore
  /** What is younger stays: somebody may be about to push what needs it. */
  readonly graceMs: number
  /** Counts what would go, and takes nothing. */
  readonly dryRun: boolean
  /** Takes no bytes that the database does not know where they are most of the store. */
  readonly requireKnownStore: boolean
  /** Ends it after the batch that it is at. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: GcProgress) => void) | undefined
  /** Called where a backup is running, so that stored bytes were not removed; the next collection removes them. */
  readonly onBackupRunning?: (() => void) | undefined
}

export interface GcRun extends GcOptions {
  readonly nowMs: number
  /** Links that were made at or before this are old enough. */
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

/** Rows that one statement looks at, and that one transaction takes: others wait for it a few milliseconds. */
export const ROWS_PER_READ = 1000
export const ROWS_PER_TRANSACTION = 100
/** Between two transactions others have their turn: SQLite has one writer at a time. */
const PAUSE_MS = 5

/** After each batch. Throws the reason of a run that is to end. */
export async function pauseBetweenBatches({ signal, dryRun }: GcRun, deleted: number): Promise<void> {
  signal?.throwIfAborted()
  if (deleted > 0 && !dryRun) await sleep(PAUSE_MS)
}

export function* batches<T>(all: readonly T[], size = ROWS_PER_TRANSACTION): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size)
}
