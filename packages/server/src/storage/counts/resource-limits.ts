import { LRUCache } from 'lru-cache'
import { quotaExceeded } from '../../api/errors.ts'
import {
  kindOfTable,
  type ResourceKind,
  type ResourceLimits,
  resourceKinds,
} from '../../api/resource-limits.ts'
import type { Db, Reader, Tx } from '../db.ts'
import { prepared } from '../prepared.ts'
import { type ResourceLimitRow, type ResourceTable, resourceTables } from '../schema/tables.ts'
import { runCachedText, runInTransaction, sqlText } from '../sql-text.ts'

/**
 * How many resources of a kind organizations may hold. The limits of the installation stand beside those of the organizations,
 * under a root that none has, so that all nodes go by the same.
 */

const DEFAULTS_ROOT = ''

/** The limits that hold in each of these organizations: its own, and those of the installation where it has none. */
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

/** Sets limits of one organization; undefined takes one away. */
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

/** Makes these the limits of the installation. */
export function setDefaultLimits(tx: Tx, limits: ResourceLimits): Promise<void> {
  return setLimits(tx, DEFAULTS_ROOT, new Map(resourceKinds.map((kind) => [kind, limits[kind]])))
}

/** Forgets the limits of an organization that goes. */
export async function deleteLimits(tx: Tx, root: string): Promise<void> {
  await tx.deleteFrom('resource_limits').where('root', '=', root).execute()
}

/** Whether the installation has exactly these limits. */
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
 * How many there may be, if there is a limit. Asked by every create, so where the database can tell that no limit has changed the
 * answer of the last time holds.
 */
export function readTableLimit(
  db: Db,
  tx: Tx,
  table: ResourceTable,
  root: string,
): Promise<number | undefined> {
  return readKindLimit(db, tx, kindOfTable(table), root)
}

/** The same of any kind. */
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
    limits = new LRUCache({ max: CACHED_LIMITS_MAX })
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

/** How many resources of each kind an organization holds. */
export async function readCounts(reader: Reader, root: string): Promise<Map<ResourceKind, number>> {
  const rows = await reader
    .selectFrom('counts')
    .select((row) => ['collection', row.fn.sum('n').as('n')])
    .where('root', '=', root)
    .groupBy('collection')
    .execute()
  const of = (collection: string) => {
    const n = Number(rows.find((row) => row.collection === collection)?.n ?? 0)
    // The organization itself is none of the groups in it.
    return collection === 'groups' ? n - 1 : n
  }
  return new Map(resourceTables.map((table) => [kindOfTable(table), of(table)]))
}

/** Throws code 8 when more than `limit` are counted. */
export async function requireWithinLimit(
  tx: Tx,
  limit: number,
  table: ResourceTable,
  root: string,
): Promise<void> {
  const [row] = await counted(tx, { root, collection: table })
  // The organization itself is none of the groups in it.
  const n = Number(row?.n ?? 0) - (table === 'groups' ? 1 : 0)
  if (n <= limit) return
  throw quotaExceeded(root, `organization ${root} may hold ${limit} ${table.replaceAll('_', ' ')}`)
}
