import { limits } from '../../config/limits.ts'
import type { StoredBlob } from '../blobs/blob-store.ts'
import { findBlobRows } from '../blobs/known-bytes.ts'
import type { ScrubOptions } from './run.ts'

/**
 * Limits what a repair may forget: an unmounted disk, or the wrong bucket, has none of the blobs, which is no
 * reason to forget them all. Returns how many blobs are known, and how many missing ones may be forgotten.
 */
export async function readRepairLimits(options: ScrubOptions): Promise<RepairLimits> {
  const { store, force } = options
  // Counted first: blobs that are pushed meanwhile are not missing.
  const { all } = await store.db.kysely
    .selectFrom('blobs')
    .select((row) => row.fn.countAll().as('all'))
    .executeTakeFirstOrThrow()
  const known = Number(all)
  if (force) return { known, missingMax: Number.POSITIVE_INFINITY }
  const missing = Math.max(known - (await countPresent(options)), 0)
  const isPlausible = missing <= limits.missingBlobsUnconfirmedMax || missing <= known * MISSING_SHARE_MAX
  if (missing > 0 && (missing === known || !isPlausible)) throw new EmptyStore(missing, known)
  return { known, missingMax: missing + limits.missingBlobsUnconfirmedMax }
}

export interface RepairLimits {
  readonly known: number
  readonly missingMax: number
}

const MISSING_SHARE_MAX = 0.1
const ENTRIES_PER_BATCH = 500

/** Counts the blobs in the store that are in the database. */
async function countPresent({ store, blobs, signal }: ScrubOptions): Promise<number> {
  let present = 0
  const some: StoredBlob[] = []
  const count = async () => {
    signal?.throwIfAborted()
    const found = some.splice(0)
    const rows = await findBlobRows(store, found)
    for (const { location, size } of found) {
      const row = rows.get(location)
      // Files that were truncated to nothing are missing, too.
      if (row !== undefined && (size > 0 || Number(row.size) === 0)) present++
    }
  }
  for await (const stored of blobs.listBlobs()) {
    some.push(stored)
    if (some.length >= ENTRIES_PER_BATCH) await count()
  }
  await count()
  return present
}

export class EmptyStore extends Error {
  override readonly name = 'EmptyStore'

  constructor(missing: number, known: number) {
    super(
      `${missing} of ${known} blobs in the database are missing in the store; no more of them were forgotten. Check that the disk is mounted, and that BERTH_DATA_DIR or the bucket and its prefix are correct. To forget them, run berth admin scrub --repair --force`,
    )
  }
}
