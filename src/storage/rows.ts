import { type Insertable, sql } from 'kysely'
import { rootOf } from '../core/uid.ts'
import { countDeleted, countInserted } from './counts.ts'
import type { Db, Tx } from './db.ts'
import type { Collection, Tables } from './tables.ts'

/** Writing the rows of a collection, with what belongs to every such write. */

/** Inserts a resource and counts it. Fails on a uid that was in use before (R23). */
export async function insertResource<C extends Collection>(
  db: Db,
  tx: Tx,
  collection: C,
  row: Insertable<Tables[C]> & { readonly uid: string; readonly root: string },
): Promise<void> {
  const buried = await tx
    .selectFrom('tombstones')
    .select('uid')
    .where('root', '=', rootOf(row.uid))
    .where('uid', '=', row.uid)
    .executeTakeFirst()
  if (buried !== undefined) throw new Error(`uid ${row.uid} was in use before`)
  await tx
    .insertInto(collection as Collection)
    .values(row as never)
    .execute()
  await countInserted(db, tx, collection, row.uid)
}

/** Deletes a resource, counts it out and buries its uid. False when it was not there. */
export async function deleteResource(db: Db, tx: Tx, collection: Collection, uid: string): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom(collection)
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .executeTakeFirst()
  if (numDeletedRows === 0n) return false
  await countDeleted(db, tx, collection, uid)
  await tx
    .insertInto('tombstones')
    .values({ root: rootOf(uid), uid })
    .execute()
  return true
}

/**
 * Reads a row and holds it until the transaction ends: `share` keeps it from being deleted, `update` makes it this
 * transaction's alone.
 */
export async function lockResource<C extends Collection>(
  db: Db,
  tx: Tx,
  collection: C,
  uid: string,
  mode: 'share' | 'update',
): Promise<Tables[C] | undefined> {
  const lock = sql.raw(mode === 'share' ? db.rules.lockForShare : db.rules.lockForUpdate)
  const { rows } = await sql<Tables[C]>`
    select * from ${sql.table(collection)} where root = ${rootOf(uid)} and uid = ${uid}${lock}`.execute(tx)
  return rows[0]
}
