import { rootOf } from '../../api/uid.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import { countFindings, readImageContents, readUnmatched } from '../storage/image-findings.ts'
import { addPoint, countBySeverity } from './history-rows.ts'

/** The history of the findings of tags. */

export interface RecordOptions {
  readonly db: Db
  readonly clock: () => number
  /** Called in the transaction that writes a point; throws if it must not be written any more. */
  readonly check: (tx: Tx) => Promise<void>
}

/** Adds a point if the findings of a tag changed. Returns false if they are not known until its packages are matched. */
export async function recordTagFindings({ db, clock, check }: RecordOptions, tag: string): Promise<boolean> {
  const root = rootOf(tag)
  const row = await db.kysely
    .selectFrom('tags')
    .select(['parent', 'digest'])
    .where('root', '=', root)
    .where('uid', '=', tag)
    .executeTakeFirst()
  if (row === undefined) return true
  const { digest } = row
  const { state, ids } = (await readImageContents(db, row.parent, digest)) ?? { state: 'none', ids: [] }
  // The end of the reading queues the tag again.
  if (state === 'pending') return true
  if (await readUnmatched(db, root, ids)) return false
  const counts = countBySeverity(await countFindings(db, root, ids, {}, { long: true }))
  await inTransaction(db, async (tx) => {
    await check(tx)
    // A tag that is deleted or moved meanwhile is queued by the move.
    const locked = await lockResource(db, tx, 'tags', tag, 'share')
    if (locked?.digest === digest)
      await addPoint(db, tx, 'tag_findings', { root, tag, digest, state, ...counts }, clock())
  })
  return true
}
