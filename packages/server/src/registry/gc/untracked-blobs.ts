import { limits } from '../../config/limits.ts'
import { inTransaction } from '../../storage/db.ts'
import { parseLocation } from '../blobs/blob-locations.ts'
import type { StoredBlob } from '../blobs/blob-store.ts'
import { findBlobRows } from '../blobs/known-bytes.ts'
import { lockBlob } from '../blobs/stored-blobs.ts'
import { requireNoBackup } from './backup-hold.ts'
import { type GcRun, pauseBetweenBatches, ROWS_PER_READ } from './run.ts'

/**
 * Deletes untracked bytes: a crash leaves bytes without a row between the two steps of a push or of a garbage collection. Files with names
 * that the registry does not create are not its own, and are kept.
 */

interface Found extends StoredBlob {
  readonly digest: string
}

export async function collectUntrackedBlobs(run: GcRun): Promise<void> {
  const { blobs, dryRun, tally, onProgress, requireKnownStore: mustKnowStore } = run
  if (mustKnowStore && !dryRun) await requireKnownStore(run)
  for await (const { seen, strays: untracked } of pagesOfUntracked(run)) {
    for (const { location, digest, size } of untracked) {
      if (!dryRun) {
        if (!(await isUntracked(run, digest, location))) continue
        await blobs.remove(location)
      }
      tally.count('strays', size)
      await pauseBetweenBatches(run, 1)
    }
    onProgress?.({ step: 'strays', seen, report: tally.report() })
    await pauseBetweenBatches(run, 0)
  }
}

/**
 * Throws if most or all of the store is untracked: the likely cause is not a crash but a database that belongs to another store or is
 * out of date.
 */
async function requireKnownStore(run: GcRun): Promise<void> {
  let [all, unknown] = [0, 0]
  for await (const { seen, strays } of pagesOfUntracked(run)) {
    all = seen
    unknown += strays.length
    await pauseBetweenBatches(run, 0)
  }
  const isMostUnknown = unknown > limits.untrackedBlobsUnconfirmedMax && unknown > all / 2
  if (isMostUnknown || (unknown > 0 && !(await hasKnownBlob(run)))) throw new UnknownStore(unknown, all)
}

/** Whether the database knows any blob of the store, of whatever age. */
async function hasKnownBlob({ blobs, store }: GcRun): Promise<boolean> {
  let some: StoredBlob[] = []
  for await (const stored of blobs.listBlobs()) {
    some.push(stored)
    if (some.length < ROWS_PER_READ) continue
    if ((await findBlobRows(store, some)).size > 0) return true
    some = []
  }
  return (await findBlobRows(store, some)).size > 0
}

class UnknownStore extends Error {
  override readonly name = 'UnknownStore'

  constructor(unknown: number, all: number) {
    super(
      `${unknown} of ${all} stored blobs are untracked (not in the database); none were deleted. Check that this is the right database. To delete them, run berth admin collect --force`,
    )
  }
}

/** Untracked bytes that are old enough, in batches, and how many were checked so far. */
async function* pagesOfUntracked(
  run: GcRun,
): AsyncGenerator<{ readonly seen: number; readonly strays: readonly Found[] }> {
  const { blobs, nowMs, graceMs } = run
  const untilMs = nowMs - Math.max(graceMs, limits.untrackedBlobAgeMsMin)
  let [seen, some] = [0, [] as Found[]]
  for await (const stored of blobs.listBlobs()) {
    run.signal?.throwIfAborted()
    seen++
    const known = parseLocation(stored.location)
    if (known === undefined || Math.max(stored.modifiedMs, known.createdMs) > untilMs) continue
    some.push({ ...stored, digest: known.digest })
    if (some.length < ROWS_PER_READ) continue
    yield { seen, strays: await filterUntracked(run, some) }
    some = []
  }
  yield { seen, strays: await filterUntracked(run, some) }
}

async function filterUntracked({ store }: GcRun, found: readonly Found[]): Promise<Found[]> {
  const known = await findBlobRows(store, found)
  return found.filter(({ location }) => !known.has(location))
}

/**
 * Whether no row can ever have a location. A concurrent push of this digest has its row, or waits for this transaction;
 * one that waited finds that it took too long (`blobCommitMsMax`).
 */
function isUntracked({ store, nowMs }: GcRun, digest: string, location: string): Promise<boolean> {
  const { db, clock } = store
  return inTransaction(db, async (tx) => {
    await requireNoBackup(db, tx, clock())
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('blobs')
      .values({ digest, size: 0, location: '', created_ms: nowMs })
      .onConflict((conflict) => conflict.column('digest').doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 1n) {
      await tx.deleteFrom('blobs').where('digest', '=', digest).where('location', '=', '').execute()
      return true
    }
    return (await lockBlob(db, tx, digest))?.location !== location
  })
}
