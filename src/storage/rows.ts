import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import type { Call } from '../core/call.ts'
import { notFound } from '../core/errors.ts'
import { requireMatch } from '../core/etag.ts'
import { rootOf } from '../core/uid.ts'
import { countDeleted, countInserted, holdCount } from './counts.ts'
import type { Db, Tx } from './db.ts'
import { prepared, preparedRead } from './prepared.ts'
import { limitOf, refuseBeyond } from './resource-limits.ts'
import { runInTransaction, sqlText } from './sql-text.ts'
import type { Store } from './store.ts'
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

/** The uid of the row that has these values, which are unique among the rows. */
export async function findUid<C extends Collection>(
  { kysely }: Pick<Db, 'kysely'>,
  collection: C,
  values: Partial<Tables[NoInfer<C>]>,
): Promise<string | undefined> {
  const row = await kysely
    .selectFrom(collection as Collection)
    .select('uid')
    .where((row) => row.and(values as { uid: string }))
    .executeTakeFirst()
  return row?.uid
}

/** What a resource's file tells about it once, for what every change of a resource does. */
export interface Kind<C extends Collection, S extends DescMessage> {
  readonly collection: C
  readonly schema: S
  /** Its type in errors, e.g. `iam.chainguard.dev/Group`. */
  readonly type: string
  readonly toMessage: (row: Tables[C], tx: Tx) => MessageShape<S> | Promise<MessageShape<S>>
}

/**
 * The resource that a call changes or deletes, as it is now, this transaction's alone until it ends. Throws code 5 when it is not
 * there, and code 9 when the caller has seen another version of it (If-Match).
 */
export async function holdForChange<C extends Collection, S extends DescMessage>(
  db: Db,
  tx: Tx,
  call: Call,
  kind: Kind<C, S>,
  uid: string,
): Promise<{ readonly row: Tables[C]; readonly current: MessageShape<S> }> {
  const row = await lockResource(db, tx, kind.collection, uid, 'update')
  if (row === undefined) throw notFound(kind.type, uid)
  const current = await kind.toMessage(row, tx)
  requireMatch(call, kind.schema, current, uid)
  return { row, current }
}

/** The update time of a row that changes now: later than the one before, because it is the version of the resource. */
export function nextUpdate({ clock }: Pick<Store, 'clock'>, row: { readonly updated_ms: number }): number {
  return Math.max(clock(), row.updated_ms + 1)
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

/**
 * Inserts a resource and counts it. Fails on a uid that was in use before (R23), and with code 8 when its organization holds as
 * many of its kind as it may; `unlimited`: it belongs to the founding of the organization.
 */
export async function insertResource<C extends Collection>(
  db: Db,
  tx: Tx,
  collection: C,
  row: Tables[NoInfer<C>],
  { unlimited = false }: { readonly unlimited?: boolean } = {},
): Promise<void> {
  const { root, uid } = row
  if (ownsUid(collection)) {
    const buried = await tombstone(tx, { root, uid })
    if (buried.length > 0) throw new Error(`uid ${uid} was in use before`)
  }
  // Organizations, people and managed roles lie in no organization.
  const inOrganization = uid !== root || !ownsUid(collection)
  const limit = inOrganization && !unlimited ? await limitOf(db, tx, collection, root) : undefined
  if (limit !== undefined) await holdCount(db, tx, collection, root)
  await inserts[collection](tx, row)
  await countInserted(db, tx, collection, row.uid)
  if (limit !== undefined) await refuseBeyond(tx, limit, collection, root)
}

/** Throws code 8 when an organization holds more of a kind than it may, after rows of it were inserted together. */
export async function refuseBeyondLimit(db: Db, tx: Tx, collection: Collection, root: string): Promise<void> {
  const limit = await limitOf(db, tx, collection, root)
  if (limit === undefined) return
  await holdCount(db, tx, collection, root)
  await refuseBeyond(tx, limit, collection, root)
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
  if (ownsUid(collection)) {
    await tx
      .insertInto('tombstones')
      .values({ root: rootOf(uid), uid })
      .execute()
  }
  return true
}

/** An association goes by the uid of its group, which lives on without it. */
function ownsUid(collection: Collection): boolean {
  return collection !== 'account_associations'
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
