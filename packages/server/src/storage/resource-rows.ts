import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { invalidArgument, notFound } from '../api/errors.ts'
import { requireEtagMatch } from '../api/etag.ts'
import { rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { Call } from '../pipeline/call.ts'
import { whenReady } from '../runtime/when-ready.ts'
import { readTableLimit, requireWithinLimit } from './counts/resource-limits.ts'
import { countDeleted, countInserted, lockCount } from './counts/row-counts.ts'
import type { Db, Tx } from './db.ts'
import { prepared, preparedRead } from './prepared.ts'
import { type ResourceTable, resourceTables, type Tables, type TombstoneRow } from './schema/tables.ts'
import { runInTransaction, sqlText } from './sql-text.ts'
import type { Store } from './store.ts'

/** Reads and writes rows of resources, with the counts, limits and tombstones of every such write. */

const tombstone = prepared((db, { root, uid }: TombstoneRow) =>
  db.selectFrom('tombstones').select('uid').where('root', '=', root).where('uid', '=', uid),
)

/** One prepared statement for each table. */
function byTable<T>(make: (collection: ResourceTable) => T): Readonly<Record<ResourceTable, T>> {
  return Object.fromEntries(resourceTables.map((collection) => [collection, make(collection)])) as Record<
    ResourceTable,
    T
  >
}

const inserts = byTable((collection) =>
  prepared((db, row: Tables[ResourceTable]) => db.insertInto(collection).values(row as never)),
)

const reads = byTable((collection) =>
  preparedRead((db, { root, uid }: TombstoneRow) =>
    db.selectFrom(collection).selectAll().where('root', '=', root).where('uid', '=', uid),
  ),
)

/** Reads the row of a uid, as committed; without waiting where the database does not. */
export function readResource<C extends ResourceTable>(
  db: Db,
  table: C,
  uid: string,
): Tables[C] | undefined | Promise<Tables[C] | undefined> {
  const rows = reads[table](db, { root: rootOf(uid), uid }) as Tables[C][] | Promise<Tables[C][]>
  return whenReady(rows, ([row]) => row)
}

/** Returns the uid of the row with these values, which are a unique key. */
export async function findUid<C extends ResourceTable>(
  { kysely }: Pick<Db, 'kysely'>,
  table: C,
  values: Partial<Tables[NoInfer<C>]>,
): Promise<string | undefined> {
  const row = await kysely
    .selectFrom(table as ResourceTable)
    .select('uid')
    .where((row) => row.and(values as { uid: string }))
    .executeTakeFirst()
  return row?.uid
}

/** The declaration of a resource that all its changes use. */
export interface ResourceDefinition<C extends ResourceTable, S extends DescMessage> {
  readonly table: C
  readonly schema: S
  /** Its type in errors, e.g. `iam.chainguard.dev/Group`. */
  readonly type: string
  readonly toMessage: (row: Tables[C], tx: Tx) => MessageShape<S> | Promise<MessageShape<S>>
}

/**
 * Reads and locks the resource that a call changes or deletes. Throws code 5 if it does not exist, and code 9 if the caller's version of it
 * (If-Match) is not the current one.
 */
export async function lockForChange<C extends ResourceTable, S extends DescMessage>(
  db: Db,
  tx: Tx,
  call: Call,
  definition: ResourceDefinition<C, S>,
  uid: string,
): Promise<{ readonly row: Tables[C]; readonly current: MessageShape<S> }> {
  const row = await lockResource(db, tx, definition.table, uid, 'update')
  if (row === undefined) throw notFound(definition.type, uid)
  const current = await definition.toMessage(row, tx)
  requireEtagMatch(call, definition.schema, current, uid)
  return { row, current }
}

/** Returns the new update time of a row. It is later than the previous one, because it is the version of the resource. */
export function nextUpdateMs({ clock }: Pick<Store, 'clock'>, row: { readonly updated_ms: number }): number {
  return Math.max(clock(), row.updated_ms + 1)
}

/** Throws code 3 for a name or URL that does not fit into an index key with the uid: only far below the organization. */
function requireIndexable(uid: string, row: object): void {
  const charsMax = limits.uidAndNameCharsMax - uid.length
  for (const field of ['name', 'url']) {
    const value: unknown = (row as Readonly<Record<string, unknown>>)[field]
    if (typeof value === 'string' && value.length > charsMax)
      throw invalidArgument(field, `must have at most ${charsMax} characters at this depth of groups`)
  }
}

/** Changes columns of a row that is locked. */
export async function updateResource<C extends ResourceTable>(
  tx: Tx,
  table: C,
  uid: string,
  changed: Partial<Tables[NoInfer<C>]>,
): Promise<void> {
  requireIndexable(uid, changed)
  await tx
    .updateTable(table as ResourceTable)
    .set(changed as never)
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .execute()
}

/**
 * Inserts a resource and counts it. Fails for a uid that was in use before (R23), and with code 8 if its organization has reached the limit
 * for the kind; `unlimited`: the resource is created together with the organization.
 */
export async function insertResource<C extends ResourceTable>(
  db: Db,
  tx: Tx,
  table: C,
  row: Tables[NoInfer<C>],
  { unlimited = false }: { readonly unlimited?: boolean } = {},
): Promise<void> {
  const { root, uid } = row
  requireIndexable(uid, row)
  if (ownsUid(table)) {
    const tombstones = await tombstone(tx, { root, uid })
    if (tombstones.length > 0) throw new Error(`uid ${uid} was in use before`)
  }
  // Organizations, users and managed roles belong to no organization.
  const inOrganization = uid !== root || !ownsUid(table)
  const limit = inOrganization && !unlimited ? await readTableLimit(db, tx, table, root) : undefined
  if (limit !== undefined) await lockCount(db, tx, table, root)
  await inserts[table](tx, row)
  await countInserted(db, tx, table, row.uid)
  if (limit !== undefined) await requireWithinLimit(tx, limit, table, root)
}

/** Throws code 8 if an organization exceeds its limit for a kind, after several rows were inserted together. */
export async function requireWithinTableLimit(
  db: Db,
  tx: Tx,
  table: ResourceTable,
  root: string,
): Promise<void> {
  const limit = await readTableLimit(db, tx, table, root)
  if (limit === undefined) return
  await lockCount(db, tx, table, root)
  await requireWithinLimit(tx, limit, table, root)
}

/** Deletes a resource, updates the count and stores a tombstone of its uid. Returns false if it did not exist. */
export async function deleteResource(db: Db, tx: Tx, table: ResourceTable, uid: string): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom(table)
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .executeTakeFirst()
  if (numDeletedRows === 0n) return false
  await countDeleted(db, tx, table, uid)
  if (ownsUid(table)) {
    await tx
      .insertInto('tombstones')
      .values({ root: rootOf(uid), uid })
      .execute()
  }
  return true
}

/** An association has the uid of its group, which continues to exist without it. */
function ownsUid(table: ResourceTable): boolean {
  return table !== 'account_associations'
}

/**
 * Reads a row and locks it until the transaction ends: `share` prevents that it is deleted, `update` also prevents that other transactions
 * lock or change it.
 */
export async function lockResource<C extends ResourceTable>(
  db: Db,
  tx: Tx,
  table: C,
  uid: string,
  mode: 'share' | 'update',
): Promise<Tables[C] | undefined> {
  const lock = mode === 'share' ? db.rules.lockForShare : db.rules.lockForUpdate
  const sql = sqlText(db.engine)
  const text = `select * from ${table} where root = ${sql.bind(rootOf(uid))} and uid = ${sql.bind(uid)}${lock}`
  const [row] = await runInTransaction<Tables[C]>(tx, text, sql)
  return row
}
