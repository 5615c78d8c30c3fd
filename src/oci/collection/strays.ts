import type { StoredBytes } from '../../blobs/store.ts'
import { limits } from '../../core/limits.ts'
import { inTransaction } from '../../storage/db.ts'
import { readLocation } from '../blob-locations.ts'
import { rowsOf } from '../known-bytes.ts'
import { holdBlob } from '../stored-blobs.ts'
import { requireNoBackup } from './hold.ts'
import { betweenBatches, type CollectionRun, ROWS_SEEN_AT_ONCE } from './run.ts'

/**
 * Bytes in the store that no row knows: a crash leaves them between the two steps of a push, or of a collection. What has another name
 * than the registry gives is somebody else's, and stays.
 */

interface Found extends StoredBytes {
  readonly digest: string
}

export async function collectStrays(run: CollectionRun): Promise<void> {
  const { blobs, dryRun, tally, onProgress, mistrust } = run
  if (mistrust && !dryRun) await requireTrust(run)
  for await (const { seen, strays } of pagesOfStrays(run)) {
    for (const { location, digest, size } of strays) {
      if (!dryRun) {
        if (!(await isNobodys(run, digest, location))) continue
        await blobs.remove(location)
      }
      tally.count('strays', size)
      await betweenBatches(run, 1)
    }
    onProgress?.({ step: 'strays', seen, report: tally.report() })
    await betweenBatches(run, 0)
  }
}

/**
 * Throws where most of the store is unknown, or all of it: that is no crash, but a database that belongs to another store, or to another
 * day.
 */
async function requireTrust(run: CollectionRun): Promise<void> {
  let [all, unknown] = [0, 0]
  for await (const { seen, strays } of pagesOfStrays(run)) {
    all = seen
    unknown += strays.length
    await betweenBatches(run, 0)
  }
  const most = unknown > limits.straysTrustedMax && unknown > all / 2
  if (most || (unknown > 0 && !(await knowsAny(run)))) throw new UnknownStore(unknown, all)
}

/** Whether the database knows anything of the store, however young. */
async function knowsAny({ blobs, store }: CollectionRun): Promise<boolean> {
  let some: StoredBytes[] = []
  for await (const stored of blobs.blobs()) {
    some.push(stored)
    if (some.length < ROWS_SEEN_AT_ONCE) continue
    if ((await rowsOf(store, some)).size > 0) return true
    some = []
  }
  return (await rowsOf(store, some)).size > 0
}

class UnknownStore extends Error {
  override readonly name = 'UnknownStore'

  constructor(unknown: number, all: number) {
    super(
      `the database does not know ${unknown} of ${all} stored blobs, and nothing of them was taken: is it the right one? berth admin collect --force takes them`,
    )
  }
}

/** What is old enough and has no row, a few at a time, and how many were looked at so far. */
async function* pagesOfStrays(
  run: CollectionRun,
): AsyncGenerator<{ readonly seen: number; readonly strays: readonly Found[] }> {
  const { blobs, nowMs, graceMs } = run
  const untilMs = nowMs - Math.max(graceMs, limits.strayAgeMsMin)
  let [seen, some] = [0, [] as Found[]]
  for await (const stored of blobs.blobs()) {
    seen++
    const known = readLocation(stored.location)
    if (known === undefined || Math.max(stored.modifiedMs, known.chosenMs) > untilMs) continue
    some.push({ ...stored, digest: known.digest })
    if (some.length < ROWS_SEEN_AT_ONCE) continue
    yield { seen, strays: await withoutRow(run, some) }
    some = []
  }
  yield { seen, strays: await withoutRow(run, some) }
}

async function withoutRow({ store }: CollectionRun, found: readonly Found[]): Promise<Found[]> {
  const known = await rowsOf(store, found)
  return found.filter(({ location }) => !known.has(location))
}

/**
 * Whether no row will ever know a location. A push that stores this digest in this moment has its row, or waits for this transaction:
 * one that waited finds that it took too long (`blobKeepingMsMax`).
 */
function isNobodys({ store, nowMs }: CollectionRun, digest: string, location: string): Promise<boolean> {
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
    return (await holdBlob(db, tx, digest))?.location !== location
  })
}
