import type { StoredUpload } from '../../blobs/store.ts'
import { limits } from '../../core/limits.ts'
import { inTransaction } from '../../storage/db.ts'
import type { UploadRow } from '../../storage/tables.ts'
import { isOwnUpload } from '../blob-locations.ts'
import { idsOf } from '../known-bytes.ts'
import { betweenBatches, type CollectionRun, ROWS_TAKEN_AT_ONCE } from './run.ts'

/** Uploads that are over: they count no more since then, and here their rows go, and then what was sent. */
export async function collectUploads(run: CollectionRun): Promise<void> {
  const { store, blobs, dryRun, tally, onProgress } = run
  let seen = 0
  for (let after = { expires_ms: -1, id: '' }; ; ) {
    const page = await pageOfUploads(run, after)
    seen += page.length
    let taken = 0
    for (const upload of page) {
      if (!dryRun) {
        if (!(await takeRow(run, upload))) continue
        await blobs.discard(upload)
      }
      taken++
      tally.count('uploads', Number(upload.size), upload.root)
    }
    onProgress?.({ step: 'uploads', seen, report: tally.report() })
    await betweenBatches(run, taken)
    const last = page.at(-1)
    if (last === undefined || page.length < ROWS_TAKEN_AT_ONCE) break
    after = { expires_ms: Number(last.expires_ms), id: last.id }
  }
  await collectParts(run)

  async function takeRow({ nowMs }: CollectionRun, { root, repo, id }: UploadRow): Promise<boolean> {
    const { numDeletedRows } = await inTransaction(store.db, (tx) =>
      tx
        .deleteFrom('uploads')
        .where('root', '=', root)
        .where('repo', '=', repo)
        .where('id', '=', id)
        .where('expires_ms', '<=', endedBefore(run))
        .where((row) => row.or([row('writer', '=', ''), row('lease_ms', '<=', nowMs)]))
        .executeTakeFirst(),
    )
    return numDeletedRows > 0n
  }
}

/** A request that began while the upload was good may still be at work. */
function endedBefore({ nowMs, graceMs }: CollectionRun): number {
  return nowMs - Math.min(graceMs, limits.uploadRemainsMs)
}

function pageOfUploads(run: CollectionRun, after: { readonly expires_ms: number; readonly id: string }) {
  return run.store.db.kysely
    .selectFrom('uploads')
    .selectAll()
    .where('expires_ms', '<=', endedBefore(run))
    .where((row) => row.or([row('writer', '=', ''), row('lease_ms', '<=', run.nowMs)]))
    .where((row) =>
      row.or([
        row('expires_ms', '>', after.expires_ms),
        row.and([row('expires_ms', '=', after.expires_ms), row('id', '>', after.id)]),
      ]),
    )
    .orderBy('expires_ms')
    .orderBy('id')
    .limit(ROWS_TAKEN_AT_ONCE)
    .execute()
}

/** What was sent and has no row: of a push in one request that broke off, or of a repo that was deleted. */
async function collectParts(run: CollectionRun): Promise<void> {
  const { store, blobs, dryRun, tally, nowMs, graceMs } = run
  const untilMs = nowMs - Math.max(graceMs, limits.strayAgeMsMin)
  let some: StoredUpload[] = []
  const discard = async () => {
    const found = some
    some = []
    const known = await idsOf(store, found)
    const unknown = found.filter(({ id }) => !known.has(id))
    for (const upload of unknown) {
      if (!dryRun) await blobs.discard(upload)
      tally.count('uploads', 0)
    }
    await betweenBatches(run, unknown.length)
  }
  for await (const upload of blobs.uploads()) {
    if (upload.modifiedMs > untilMs || !isOwnUpload(upload)) continue
    some.push(upload)
    if (some.length >= ROWS_TAKEN_AT_ONCE) await discard()
  }
  await discard()
}
