import { rootOf } from '../core/uid.ts'
import { countDeleted, countInserted } from './counts.ts'
import type { Db, Tx } from './db.ts'
import { prepared, preparedRead } from './prepared.ts'
import { runInTransaction, sqlText } from './sql-text.ts'
import { type Collection, collections, type Tables, type TombstoneRow } from './tables.ts'

/** Reading and writing the rows of a collection, with what belongs to every such write. */

const tombstone = prepared((db, { root, uid }: TombstoneRow) =>
  db.selectFrom('tombstones').select('uid').where('root', '=', root).where('uid', '=', uid),
)

/** One prepared statement for each collection. */
function each<T>(make: (collection: Collection) => T): Readonly<Record<Collection, T>> {
  return Object.fromEntries(collections.map((collection) => [collection, make(collection)])) as Record<
    Collection,
    T
  >
}

const inserts = each((collection) =>
  prepared((db, row: Tables[Collection]) => db.insertInto(collection).values(row as never)),
)

const reads = each((collection) =>
  preparedRead((db, { root, uid }: TombstoneRow) =>
    db.selectFrom(collection).selectAll().where('root', '=', root).where('uid', '=', uid),
  ),
)

/** The row of a uid, as committed. */
export async function readResource<C extends Collection>(
  db: Db,
  collection: C,
  uid: string,
): Promise<Tables[C] | undefined> {
  const [row] = await reads[collection](db, { root: rootOf(uid), uid })
  return row as Tables[C] | undefined
}

/** Changes columns of a row that is locked. */
export async function updateResource<C extends Collection>(
  tx: Tx,
  collection: C,
  uid: string,
  changed: Partial<Tables[NoInfer<C>]>,
): Promise<void> {
  await tx
    .updateTable(collection as Collection)
    .set(changed as never)
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .execute()
}

/** Inserts a resource and counts it. Fails on a uid that was in use before (R23). */
export async function insertResource<C extends Collection>(
  db: Db,
  tx: Tx,
  collection: C,
  row: Tables[NoInfer<C>],
): Promise<void> {
  const { root, uid } = row
  const buried = await tombstone(tx, { root, uid })
  if (buried.length > 0) throw new Error(`uid ${uid} was in use before`)
  await inserts[collection](tx, row)
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
  const lock = mode === 'share' ? db.rules.lockForShare : db.rules.lockForUpdate
  const sql = sqlText(db.engine)
  const text = `select * from ${collection} where root = ${sql.bind(rootOf(uid))} and uid = ${sql.bind(uid)}${lock}`
  const [row] = await runInTransaction<Tables[C]>(tx, text, sql)
  return row
}
