import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Reader, Tx } from '../../storage/db.ts'
import { prepared } from '../../storage/prepared.ts'
import type { TagDigestRow } from '../../storage/schema/tables.ts'

/** The digests that a tag has pointed at: written with the tag, deleted with it. The oldest are dropped beyond a limit. */

const insertDigest = prepared((db, row: TagDigestRow) => db.insertInto('tag_digests').values(row))

/** The newest entry beyond the limit. */
const newestBeyond = prepared((db, { root, uid }: Pick<TagDigestRow, 'root' | 'uid'>) =>
  db
    .selectFrom('tag_digests')
    .select('since_ms')
    .where('root', '=', root)
    .where('uid', '=', uid)
    .orderBy('since_ms', 'desc')
    .limit(1)
    .offset(limits.tagHistoryMax),
)

/** Records what a tag points at from now on, and deletes entries beyond `tagHistoryMax`. */
export async function recordDigest(
  tx: Tx,
  { uid, since_ms, digest, actor }: Omit<TagDigestRow, 'root'>,
): Promise<void> {
  const root = rootOf(uid)
  await insertDigest(tx, { root, uid, since_ms, digest, actor })
  const [newestDeleted] = await newestBeyond(tx, { root, uid })
  if (newestDeleted === undefined) return
  await tx
    .deleteFrom('tag_digests')
    .where('root', '=', root)
    .where('uid', '=', uid)
    .where('since_ms', '<=', newestDeleted.since_ms)
    .execute()
}

/** Deletes the digests that a tag had, and the history of its findings. */
export async function deleteHistory(tx: Tx, uid: string): Promise<void> {
  await tx.deleteFrom('tag_digests').where('root', '=', rootOf(uid)).where('uid', '=', uid).execute()
  await tx.deleteFrom('tag_findings').where('root', '=', rootOf(uid)).where('tag', '=', uid).execute()
}

/** Returns the digests of a tag that were recorded in an interval, latest first. */
export function listHistory(
  reader: Reader,
  uid: string,
  {
    fromMs,
    beforeMs,
    max = limits.tagHistoryMax,
  }: { readonly fromMs: number; readonly beforeMs: number; readonly max?: number },
): Promise<TagDigestRow[]> {
  return reader
    .selectFrom('tag_digests')
    .selectAll()
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .where('since_ms', '>=', fromMs)
    .where('since_ms', '<', beforeMs)
    .orderBy('since_ms', 'desc')
    .limit(max)
    .execute()
}
