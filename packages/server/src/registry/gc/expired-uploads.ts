import { limits } from '../../config/limits.ts'
import { inTransaction } from '../../storage/db.ts'
import type { UploadRow } from '../../storage/schema/tables.ts'
import { isOwnUpload } from '../blobs/blob-locations.ts'
import type { StoredUpload } from '../blobs/blob-store.ts'
import { findUploadIds } from '../blobs/known-bytes.ts'
import { type GcRun, pauseBetweenBatches, ROWS_PER_TRANSACTION } from './run.ts'

/** Deletes the rows of expired uploads, then their bytes. They stopped counting when they expired. */
export async function collectExpiredUploads(run: GcRun): Promise<void> {
  const { store, blobs, dryRun, tally, onProgress } = run
  let seen = 0
  for (let after = { expires_ms: -1, id: '' }; ; ) {
    const page = await pageOfUploads(run, after)
    seen += page.length
    let deleted = 0
    for (const upload of page) {
      if (!dryRun) {
        if (!(await deleteRow(run, upload))) continue
        await blobs.discard(upload)
      }
      deleted++
      tally.count('uploads', Number(upload.size), upload.root)
    }
    onProgress?.({ step: 'uploads', seen, report: tally.report() })
    await pauseBetweenBatches(run, deleted)
    const last = page.at(-1)
    if (last === undefined || page.length < ROWS_PER_TRANSACTION) break
    after = { expires_ms: Number(last.expires_ms), id: last.id }
  }
  await collectUntrackedUploads(run)

  async function deleteRow({ nowMs }: GcRun, { root, repo, id }: UploadRow): Promise<boolean> {
    const { numDeletedRows } = await inTransaction(store.db, (tx) =>
      tx
        .deleteFrom('uploads')
        .where('root', '=', root)
        .where('repo', '=', repo)
        .where('id', '=', id)
        .where('expires_ms', '<=', expiredBeforeMs(run))
        .where((row) => row.or([row('writer', '=', ''), row('lease_ms', '<=', nowMs)]))
        .executeTakeFirst(),
    )
    return numDeletedRows > 0n
  }
}

/** A request that started before the upload expired may still write to it. */
function expiredBeforeMs({ nowMs, graceMs }: GcRun): number {
  return nowMs - Math.min(graceMs, limits.expiredUploadRetentionMs)
}

function pageOfUploads(run: GcRun, after: { readonly expires_ms: number; readonly id: string }) {
  return run.store.db.kysely
    .selectFrom('uploads')
    .selectAll()
    .where('expires_ms', '<=', expiredBeforeMs(run))
    .where((row) => row.or([row('writer', '=', ''), row('lease_ms', '<=', run.nowMs)]))
    .where((row) =>
      row.or([
        row('expires_ms', '>', after.expires_ms),
        row.and([row('expires_ms', '=', after.expires_ms), row('id', '>', after.id)]),
      ]),
    )
    .orderBy('expires_ms')
    .orderBy('id')
    .limit(ROWS_PER_TRANSACTION)
    .execute()
}

/** Deletes upload bytes without a row, of an interrupted monolithic push or of a deleted repo. */
async function collectUntrackedUploads(run: GcRun): Promise<void> {
  const { store, blobs, dryRun, tally, nowMs, graceMs } = run
  const untilMs = nowMs - Math.max(graceMs, limits.untrackedBlobAgeMsMin)
  let some: StoredUpload[] = []
  const discard = async () => {
    const found = some
    some = []
    const known = await findUploadIds(store, found)
    const unknown = found.filter(({ id }) => !known.has(id))
    for (const upload of unknown) {
      if (!dryRun) await blobs.discard(upload)
      tally.count('uploads', 0)
    }
    await pauseBetweenBatches(run, unknown.length)
  }
  for await (const upload of blobs.listUploads()) {
    if (upload.modifiedMs > untilMs || !isOwnUpload(upload)) continue
    some.push(upload)
    if (some.length >= ROWS_PER_TRANSACTION) await discard()
  }
  await discard()
}
