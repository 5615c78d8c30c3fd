import { deleteRows } from '../../storage/bulk-rows.ts'
import { type Db, inTransaction } from '../../storage/db.ts'
import { runInTransaction, runLongText, sqlText } from '../../storage/sql-text.ts'
import { requireNoBackup } from './backup-hold.ts'
import { batches, type GcRun, pauseBetweenBatches, ROWS_PER_READ } from './run.ts'

/**
 * Deletes bytes without a link. A request that creates a link locks the row of the bytes; here it is locked before links are
 * looked up. The row is deleted first: bytes without a row are deleted later as untracked, but a row without bytes would break pulls.
 */

interface Stored {
  readonly digest: string
  readonly size: number
  readonly location: string
}

export async function collectUnlinkedBlobs(run: GcRun): Promise<void> {
  const { store, blobs, dryRun, tally, onProgress } = run
  let seen = 0
  for await (const page of pagesOfBlobs(store.db, dryRun ? run.cutoffMs : KEEP_ALL_LINKS)) {
    seen += page.length
    const unlinked = page.filter((blob) => !blob.isLinked)
    for (const batch of batches(unlinked)) {
      const deleted = dryRun ? batch : await deleteUnlinkedRows(store, batch)
      for (const { location, size } of deleted) {
        if (!dryRun) await blobs.remove(location)
        tally.count('blobs', Number(size))
      }
      await pauseBetweenBatches(run, deleted.length)
    }
    onProgress?.({ step: 'blobs', seen, report: tally.report() })
    await pauseBetweenBatches(run, 0)
  }
}

/** A cutoff that no link is older than. */
const KEEP_ALL_LINKS = -1

/** All stored blobs, and whether they have a link, ignoring links that a run with this cutoff would delete. */
async function* pagesOfBlobs(db: Db, cutoffMs: number): AsyncGenerator<(Stored & { isLinked: boolean })[]> {
  for (let after = ''; ; ) {
    const sql = sqlText(db.engine)
    const text = `select b.digest, b.size, b.location from blobs as b
      where b.digest > ${sql.bind(after)} order by b.digest limit ${sql.bind(ROWS_PER_READ)}`
    const page = await runLongText<Stored>(db, text, sql)
    const linked = await readLinkedDigests(
      db,
      page.map(({ digest }) => digest),
      cutoffMs,
    )
    yield page.map((blob) => ({ ...blob, isLinked: linked.has(blob.digest) }))
    const last = page.at(-1)
    if (last === undefined || page.length < ROWS_PER_READ) return
    after = last.digest
  }
}

async function readLinkedDigests(
  db: Db,
  digests: readonly string[],
  cutoffMs: number,
): Promise<ReadonlySet<string>> {
  if (digests.length === 0) return new Set()
  const sql = sqlText(db.engine)
  const text = `select distinct l.digest from repo_blobs as l where l.digest in (${sql.bindAll(digests)})
    and (l.linked_ms > ${sql.bind(cutoffMs)} or exists (select 1 from manifest_references as r
      where r.root = l.root and r.repo = l.repo and r.digest = l.digest and r.kind = 'blob'))`
  const rows = await runLongText<{ digest: string }>(db, text, sql)
  return new Set(rows.map(({ digest }) => digest))
}

async function deleteUnlinkedRows(
  { db, clock }: GcRun['store'],
  candidates: readonly Stored[],
): Promise<Stored[]> {
  const digests = candidates.map(({ digest }) => digest)
  return inTransaction(db, async (tx) => {
    await requireNoBackup(db, tx, clock())
    const held = sqlText(db.engine)
    // Read the current rows: a blob that was stored again meanwhile has another location.
    const rows = await runInTransaction<Stored>(
      tx,
      `select digest, size, location from blobs where digest in (${held.bindAll(digests)}) order by digest${db.rules.lockForUpdate}`,
      held,
    )
    const sql = sqlText(db.engine)
    const text = `select distinct digest from repo_blobs where digest in (${sql.bindAll(digests)})`
    const links = await runInTransaction<{ digest: string }>(tx, text, sql)
    const linked = new Set(links.map(({ digest }) => digest))
    const unlinked = rows.filter(({ digest }) => !linked.has(digest))
    await deleteRows(
      db,
      tx,
      'blobs',
      unlinked.map(({ digest }) => ({ digest })),
    )
    return unlinked
  })
}
