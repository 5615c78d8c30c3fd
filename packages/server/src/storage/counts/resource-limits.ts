import type { LRUCache } from 'lru-cache'
import { quotaExceeded } from '../../api/errors.ts'
import {
  kindOfTable,
  type ResourceKind,
  type ResourceLimits,
  resourceKinds,
} from '../../api/resource-limits.ts'
import { createGrowingCache } from '../../runtime/caches/growing-cache.ts'
import type { Db, Reader, Tx } from '../db.ts'
import { prepared } from '../prepared.ts'
import { type ResourceLimitRow, type ResourceTable, resourceTables } from '../schema/tables.ts'
import { runCachedText, runInTransaction, sqlText } from '../sql-text.ts'

/**
 * Limits of the number of resources of a kind in an organization. The default limits of the installation are in the same table, under a root
 * that no organization has, so that all nodes apply the same ones.
 */

const DEFAULTS_ROOT = ''

/** Reads the effective limits of organizations: their own, and the installation's default for other kinds. */
export async function readLimits(
  db: Db,
  roots: readonly string[],
  tx?: Tx,
): Promise<ReadonlyMap<string, ResourceLimits>> {
  if (roots.length === 0) return new Map()
  const sql = sqlText(db.engine)
  const text = `select root, kind, n from resource_limits where root in (${sql.bindAll([DEFAULTS_ROOT, ...roots])})`
  const rows =
    tx === undefined
      ? await runCachedText<ResourceLimitRow>(db, text, sql)
      : await runInTransaction<ResourceLimitRow>(tx, text, sql)
  const of = (root: string) =>
    Object.fromEntries(rows.filter((row) => row.root === root).map(({ kind, n }) => [kind, n]))
  const defaults = of(DEFAULTS_ROOT)
  return new Map(roots.map((root) => [root, { ...defaults, ...of(root) }]))
}

/** Sets limits of one organization; undefined removes a limit. */
export async function setLimits(
  tx: Tx,
  root: string,
  changes: ReadonlyMap<ResourceKind, number | undefined>,
): Promise<void> {
  for (const [kind, n] of changes) {
    await tx.deleteFrom('resource_limits').where('root', '=', root).where('kind', '=', kind).execute()
    if (n !== undefined) await tx.insertInto('resource_limits').values({ root, kind, n }).execute()
  }
}

/** Sets the default limits of the installation. */
export function setDefaultLimits(tx: Tx, limits: ResourceLimits): Promise<void> {
  return setLimits(tx, DEFAULTS_ROOT, new Map(resourceKinds.map((kind) => [kind, limits[kind]])))
}

/** Deletes the limits of an organization that is deleted. */
export async function deleteLimits(tx: Tx, root: string): Promise<void> {
  await tx.deleteFrom('resource_limits').where('root', '=', root).execute()
}

/** Returns whether the installation has exactly these default limits. */
export async function hasDefaultLimits(db: Reader, limits: ResourceLimits): Promise<boolean> {
  const rows = await db
    .selectFrom('resource_limits')
    .select(['kind', 'n'])
    .where('root', '=', DEFAULTS_ROOT)
    .execute()
  return (
    rows.length === Object.keys(limits).length &&
    rows.every(({ kind, n }) => limits[kind as ResourceKind] === n)
  )
}

const limitRows = prepared((db, { root, kind }: { root: string; kind: string }) =>
  db
    .selectFrom('resource_limits')
    .select(['root', 'n'])
    .where('root', 'in', [root, DEFAULTS_ROOT])
    .where('kind', '=', kind),
)

const CACHED_LIMITS_MAX = 10_000

const caches = new WeakMap<
  Db,
  LRUCache<string, { readonly version: number; readonly n: number | undefined }>
>()

/**
 * Returns the effective limit, if there is one. Every create reads it, so it is cached while `Db.version` reports no change of access.
 */
export function readTableLimit(
  db: Db,
  tx: Tx,
  table: ResourceTable,
  root: string,
): Promise<number | undefined> {
  return readKindLimit(db, tx, kindOfTable(table), root)
}

/** Like readTableLimit, for any kind. */
export async function readKindLimit(
  db: Db,
  tx: Tx,
  kind: ResourceKind,
  root: string,
): Promise<number | undefined> {
  const version = db.version('access')
  if (version === undefined) return readLimit(tx, kind, root)
  let limits = caches.get(db)
  if (limits === undefined) {
    limits = createGrowingCache(CACHED_LIMITS_MAX)
    caches.set(db, limits)
  }
  const key = `${kind} ${root}`
  const cached = limits.get(key)
  if (cached?.version === version) return cached.n
  const n = await readLimit(tx, kind, root)
  limits.set(key, { version, n })
  return n
}

async function readLimit(tx: Tx, kind: ResourceKind, root: string): Promise<number | undefined> {
  const rows = await limitRows(tx, { root, kind })
  return (rows.find((row) => row.root === root) ?? rows[0])?.n
}

const counted = prepared((db, { root, collection }: { root: string; collection: string }) =>
  db
    .selectFrom('counts')
    .select((eb) => eb.fn.coalesce(eb.fn.sum<number | string>('n'), eb.lit(0)).as('n'))
    .where('root', '=', root)
    .where('collection', '=', collection),
)

/** Counts the resources of each kind in an organization. */
export async function readCounts(reader: Reader, root: string): Promise<ReadonlyMap<ResourceKind, number>> {
  return (await readCountsOf(reader, [root])).get(root) ?? new Map()
}

/** Counts the resources of each kind in organizations. */
export async function readCountsOf(
  reader: Reader,
  roots: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<ResourceKind, number>>> {
  if (roots.length === 0) return new Map()
  const rows = await reader
    .selectFrom('counts')
    .select((row) => ['root', 'collection', row.fn.sum('n').as('n')])
    .where('root', 'in', roots)
    .groupBy(['root', 'collection'])
    .execute()
  const byKey = new Map(rows.map(({ root, collection, n }) => [`${root} ${collection}`, Number(n)]))
  const of = (root: string, collection: string) => {
    const n = byKey.get(`${root} ${collection}`) ?? 0
    // The organization itself does not count as a group in it.
    return collection === 'groups' ? n - 1 : n
  }
  return new Map(
    roots.map((root) => [
      root,
      new Map(resourceTables.map((table) => [kindOfTable(table), of(root, table)])),
    ]),
  )
}

/** Reads the limits that organizations have themselves, and the default limits of the installation under ''. */
export async function readOwnLimits(
  reader: Reader,
  roots: readonly string[],
): Promise<ReadonlyMap<string, ResourceLimits>> {
  const all = [DEFAULTS_ROOT, ...roots]
  const rows = await reader.selectFrom('resource_limits').selectAll().where('root', 'in', all).execute()
  return new Map(
    all.map((root) => [
      root,
      Object.fromEntries(rows.filter((row) => row.root === root).map(({ kind, n }) => [kind, Number(n)])),
    ]),
  )
}

/** Throws code 8 if the count exceeds `limit`. */
export async function requireWithinLimit(
  tx: Tx,
  limit: number,
  table: ResourceTable,
  root: string,
): Promise<void> {
  const [row] = await counted(tx, { root, collection: table })
  // The organization itself does not count as a group in it.
  const n = Number(row?.n ?? 0) - (table === 'groups' ? 1 : 0)
  if (n <= limit) return
  throw quotaExceeded(root, `organization ${root} may hold ${limit} ${table.replaceAll('_', ' ')}`)
}
