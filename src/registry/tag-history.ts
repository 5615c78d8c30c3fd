import { rootOf } from '../core/uid.ts'
import type { Reader, Tx } from '../storage/db.ts'
import type { TagDigestRow } from '../storage/tables.ts'

/** Which digests a tag has pointed at: written with the tag itself, gone with it. */

/** Notes what a tag points at from now on. */
export async function recordDigest(tx: Tx, { uid, since_ms, digest }: Omit<TagDigestRow, 'root'>) {
  await tx
    .insertInto('tag_digests')
    .values({ root: rootOf(uid), uid, since_ms, digest })
    .execute()
}

export async function deleteHistory(tx: Tx, uid: string): Promise<void> {
  await tx.deleteFrom('tag_digests').where('root', '=', rootOf(uid)).where('uid', '=', uid).execute()
}

/** The latest digests of a tag first, `atMost` of those noted from one time to before another. */
export function historyOf(
  reader: Reader,
  uid: string,
  {
    fromMs,
    beforeMs,
    atMost,
  }: { readonly fromMs: number; readonly beforeMs: number; readonly atMost: number },
): Promise<TagDigestRow[]> {
  return reader
    .selectFrom('tag_digests')
    .selectAll()
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .where('since_ms', '>=', fromMs)
    .where('since_ms', '<', beforeMs)
    .orderBy('since_ms', 'desc')
    .limit(atMost)
    .execute()
}
