import { rootOf } from '../core/uid.ts'
import { countDeleted, countInserted } from './counts.ts'
import type { Db, Tx } from './db.ts'
import { prepared } from './prepared.ts'
import { runInTransaction, sqlText } from './sql-text.ts'
import type { Collection, Tables, TombstoneRow } from './tables.ts'

/** Writing the rows of a collection, with what belongs to every such write. */

const tombstone = prepared((db, { root, uid }: TombstoneRow) =>
  db.selectFrom('tombstones').select('uid').where('root', '=', root).where('uid', '=', uid),
)

const insertInto = (collection: Collection) =>
  prepared((db, row: Tables[Collection]) => db.insertInto(collection).values(row as never))

const inserts = {
  groups: insertInto('groups'),
  identities: insertInto('identities'),
  roles: insertInto('roles'),
  role_bindings: insertInto('role_bindings'),
  repos: insertInto('repos'),
} as const satisfies Record<Collection, unknown>

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
