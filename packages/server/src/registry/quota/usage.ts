import { quotaExceeded } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { readKindLimit, readLimits } from '../../storage/counts/resource-limits.ts'
import type { Db, Reader, Tx } from '../../storage/db.ts'
import { prepared } from '../../storage/prepared.ts'
import type { RegistryUsageRow, RepoBlobRow } from '../../storage/schema/tables.ts'
import { runInTransaction, runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { deleteContents } from '../manifests/contents-rows.ts'
import { queueSignedImages } from '../manifests/signature-changes.ts'

/**
 * How much each organization stores: manifests, and bytes of blobs, each counted once however many of its repos have it. The counters
 * change in the transaction of the rows, so they are always exact. They are sharded by digest, so that pushes rarely contend; only if
 * there is a limit do pushes wait for each other, so that it is never exceeded.
 */

export interface RegistryUsage {
  readonly manifests: number
  readonly bytes: number
}

export const MIB = 1024 * 1024

/** Where the hex digits of a digest start: `sha256:`, `sha512:`. */
const HEX_AT = 7

function partOf(digest: string): string {
  return digest.charAt(HEX_AT)
}

/** SQL of the shard of a digest. */
const partText = (column: string) => `substr(${column}, ${HEX_AT + 1}, 1)`

/** If there is a limit, writers lock this shard first. */
const LIMIT_LOCK_PART = ''

/** Locks a shard, creating it if needed. */
async function lockPart({ engine, rules }: Db, tx: Tx, root: string, part: string): Promise<void> {
  for (let created = false; ; created = true) {
    const sql = sqlText(engine)
    const text = `select part from registry_usage where root = ${sql.bind(root)} and part = ${sql.bind(part)}${rules.lockForUpdate}`
    const rows = await runInTransaction(tx, text, sql)
    if (rows.length > 0) return
    if (created) throw new Error(`the usage counter of ${root} does not exist`)
    await tx
      .insertInto('registry_usage')
      .values({ root, part, manifests: 0, bytes: 0 })
      .onConflict((conflict) => conflict.columns(['root', 'part']).doNothing())
      .execute()
  }
}

const addUsage = prepared((db, { root, part, manifests, bytes }: RegistryUsageRow) =>
  db
    .updateTable('registry_usage')
    .set((row) => ({ manifests: row('manifests', '+', manifests), bytes: row('bytes', '+', bytes) }))
    .where('root', '=', root)
    .where('part', '=', part),
)

const linksElsewhere = prepared((db, { root, repo, digest }: Pick<RepoBlobRow, 'root' | 'repo' | 'digest'>) =>
  db
    .selectFrom('repo_blobs')
    .select('repo')
    .where('digest', '=', digest)
    .where('root', '=', root)
    .where('repo', '<>', repo)
    .limit(1),
)

const countOneManifest = prepared((db, { root, part }: Pick<RegistryUsageRow, 'root' | 'part'>) =>
  db
    .insertInto('registry_usage')
    .values({ root, part, manifests: 1, bytes: 0 })
    .onConflict((conflict) =>
      conflict
        .columns(['root', 'part'])
        .doUpdateSet((row) => ({ manifests: row('registry_usage.manifests', '+', 1) })),
    ),
)

/** Counts a link that `tx` created. Throws code 8 if the organization's storage quota is exceeded. */
export async function countBlobLink(
  db: Db,
  tx: Tx,
  { repo, digest, size }: { readonly repo: string; readonly digest: string; readonly size: number },
): Promise<void> {
  const root = rootOf(repo)
  const limit = await readKindLimit(db, tx, 'storage_mib', root)
  if (limit !== undefined) await lockPart(db, tx, root, LIMIT_LOCK_PART)
  await lockPart(db, tx, root, partOf(digest))
  // Checked when no other transaction can link the same bytes.
  if ((await linksElsewhere(tx, { root, repo, digest })).length > 0) return
  await addUsage(tx, { root, part: partOf(digest), manifests: 0, bytes: size })
  if (limit === undefined) return
  const { bytes } = await readUsage(tx, root)
  if (bytes > limit * MIB) throw storageExceeded(root, limit, bytes - size)
}

const tenthsOfMib = (bytes: number) => Math.round((bytes / MIB) * 10) / 10

/** `more`: what would be added, if it is known as a whole. */
function storageExceeded(root: string, limit: number, storedBytes: number, more = '') {
  return quotaExceeded(
    root,
    `organization ${root} may store ${limit} MiB of blobs (storage_mib) and stores ${tenthsOfMib(storedBytes)} MiB${more}. ${QUOTA_HINT}`,
  )
}

function manifestsExceeded(root: string, limit: number, stored: number, more = '') {
  return quotaExceeded(
    root,
    `organization ${root} may hold ${limit} manifests (manifests) and holds ${stored}${more}. ${QUOTA_HINT}`,
  )
}

/**
 * Throws code 8 if the quotas of an organization have no space for this. A change that takes several transactions asks before the first of
 * them; the decisive counts are in each. `addition`: reads what would be added, only if there is a quota.
 */
export async function requireQuota(
  db: Db,
  root: string,
  addition: () => Promise<RegistryUsage>,
): Promise<void> {
  const { storage_mib, manifests } = (await readLimits(db, [root])).get(root) ?? {}
  if (storage_mib === undefined && manifests === undefined) return
  const [used, added] = [await readUsage(db.kysely, root), await addition()]
  if (storage_mib !== undefined && added.bytes > 0 && used.bytes + added.bytes > storage_mib * MIB)
    throw storageExceeded(root, storage_mib, used.bytes, `; ${tenthsOfMib(added.bytes)} MiB would be added`)
  if (manifests !== undefined && added.manifests > 0 && used.manifests + added.manifests > manifests)
    throw manifestsExceeded(root, manifests, used.manifests, `; ${added.manifests} would be added`)
}

const QUOTA_HINT = 'Delete images, or ask the operator of this server for a higher limit'

/** Counts a manifest that `tx` created. Throws code 8 if the organization's manifest quota is exceeded. */
export async function countManifest(db: Db, tx: Tx, repo: string, digest: string): Promise<void> {
  const root = rootOf(repo)
  const limit = await readKindLimit(db, tx, 'manifests', root)
  if (limit !== undefined) await lockPart(db, tx, root, LIMIT_LOCK_PART)
  await countOneManifest(tx, { root, part: partOf(digest) })
  if (limit === undefined) return
  const { manifests } = await readUsage(tx, root)
  if (manifests > limit) throw manifestsExceeded(root, limit, manifests - 1)
}

/** Deletes links of a locked repo: of these digests, or all. Every link is deleted here. Returns the digests of deleted links. */
export async function unlinkBlobs(
  db: Db,
  tx: Tx,
  repo: string,
  digests?: readonly string[],
): Promise<string[]> {
  if (digests === undefined)
    return forEachBatch(db, tx, 'repo_blobs', repo, (some) => unlinkBlobs(db, tx, repo, some))
  if (digests.length === 0) return []
  const root = rootOf(repo)
  const which = (sql: SqlText, table: string) =>
    `${table}.root = ${sql.bind(root)} and ${table}.repo = ${sql.bind(repo)} and ${table}.digest in (${sql.bindAll(digests)})`
  await lockParts(db, tx, root, ['repo_blobs'], which)
  const sql = sqlText(db.engine)
  const unshared = await runInTransaction<{ part: string; bytes: number }>(
    tx,
    `select ${partText('mine.digest')} as part, sum(mine.size) as bytes from repo_blobs mine where ${which(sql, 'mine')}
      and not exists (select 1 from repo_blobs other
        where other.digest = mine.digest and other.root = mine.root and other.repo <> mine.repo)
      group by ${partText('mine.digest')} order by 1`,
    sql,
  )
  for (const { part, bytes } of unshared)
    await addUsage(tx, { root, part, manifests: 0, bytes: -Number(bytes) })
  const deletion = sqlText(db.engine)
  const text = `delete from repo_blobs where ${which(deletion, 'repo_blobs')} returning digest`
  return (await runInTransaction<{ digest: string }>(tx, text, deletion)).map(({ digest }) => digest)
}

/** Deletes manifests of a locked repo: these, or all. Returns the digests of deleted manifests. */
export async function deleteManifests(
  store: Pick<Store, 'db' | 'clock'>,
  tx: Tx,
  repo: string,
  digests?: readonly string[],
): Promise<string[]> {
  const { db } = store
  if (digests === undefined)
    return forEachBatch(db, tx, 'manifests', repo, (some) => deleteManifests(store, tx, repo, some))
  if (digests.length === 0) return []
  const root = rootOf(repo)
  const which = (sql: SqlText, table: string) =>
    `${table}.root = ${sql.bind(root)} and ${table}.repo = ${sql.bind(repo)} and ${table}.digest in (${sql.bindAll(digests)})`
  await lockParts(db, tx, root, ['manifests'], which)
  const sql = sqlText(db.engine)
  const deleted = await runInTransaction<{ digest: string; subject: string }>(
    tx,
    `delete from manifests where ${which(sql, 'manifests')} returning digest, subject`,
    sql,
  )
  const counts = new Map<string, number>()
  for (const { digest } of deleted) counts.set(partOf(digest), (counts.get(partOf(digest)) ?? 0) + 1)
  for (const [part, n] of counts) await addUsage(tx, { root, part, manifests: -n, bytes: 0 })
  await deleteReferences(db, tx, repo, digests)
  await deleteContents(store, tx, repo, digests)
  await queueSignedImages(db, tx, repo, { subjects: deleted.map(({ subject }) => subject) })
  await tx
    .deleteFrom('image_signatures')
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('digest', 'in', digests)
    .execute()
  return deleted.map(({ digest }) => digest)
}

/** Rows per statement, so that other work can run in between. */
const ROWS_PER_BATCH = 200

/** Deletes the references of manifests; one manifest may have thousands. */
async function deleteReferences(db: Db, tx: Tx, repo: string, manifests: readonly string[]): Promise<void> {
  const root = rootOf(repo)
  for (;;) {
    await yieldToEventLoop()
    const sql = sqlText(db.engine)
    // Of the repo, only in the subquery: else PostgreSQL compares each reference of the repo with each row of the subquery.
    const key = 'repo, digest, manifest, kind'
    const text = `delete from manifest_references where root = ${sql.bind(root)} and (${key}) in (
        select ${key} from manifest_references
        where root = ${sql.bind(root)} and repo = ${sql.bind(repo)} and manifest in (${sql.bindAll(manifests)})
        limit ${sql.bind(ROWS_PER_BATCH)}) returning kind`
    if ((await runInTransaction(tx, text, sql)).length < ROWS_PER_BATCH) return
  }
}

/** Processes and deletes all rows of a repo in batches. */
export async function forEachBatch<T>(
  db: Db,
  tx: Tx,
  table: CountedTable | 'manifest_contents',
  repo: string,
  work: (digests: readonly string[]) => Promise<T[]>,
): Promise<T[]> {
  const results: T[] = []
  for (;;) {
    await yieldToEventLoop()
    const sql = sqlText(db.engine)
    const text = `select digest from ${table} where root = ${sql.bind(rootOf(repo))} and repo = ${sql.bind(repo)}
      order by digest limit ${sql.bind(ROWS_PER_BATCH)}`
    const rows = await runInTransaction<{ digest: string }>(tx, text, sql)
    if (rows.length === 0) return results
    results.push(...(await work(rows.map(({ digest }) => digest))))
  }
}

type CountedTable = 'repo_blobs' | 'manifests'

/** Locks all shards that a locked repo counts in, before both its manifests and its links are deleted. */
export function lockRepoParts(db: Db, tx: Tx, repo: string): Promise<void> {
  const which = (sql: SqlText, table: string) =>
    `${table}.root = ${sql.bind(rootOf(repo))} and ${table}.repo = ${sql.bind(repo)}`
  return lockParts(db, tx, rootOf(repo), ['manifests', 'repo_blobs'], which)
}

/** Locks the shards of some manifests of a locked repo, before they are deleted one by one. */
export async function lockManifestParts(
  db: Db,
  tx: Tx,
  repo: string,
  digests: readonly string[],
): Promise<void> {
  for (const part of [...new Set(digests.map(partOf))].sort()) await lockPart(db, tx, rootOf(repo), part)
}

/** Locks the shards that rows count in, always in the same order. */
async function lockParts(
  db: Db,
  tx: Tx,
  root: string,
  tables: readonly CountedTable[],
  which: (sql: SqlText, table: CountedTable) => string,
): Promise<void> {
  const sql = sqlText(db.engine)
  const texts = tables.map(
    (table) => `select ${partText('digest')} as part from ${table} where ${which(sql, table)}`,
  )
  const text = `select distinct part from (${texts.join(' union all ')}) as counted order by part`
  for (const { part } of await runInTransaction<{ part: string }>(tx, text, sql))
    await lockPart(db, tx, root, part)
}

export async function readUsage(reader: Reader, root: string): Promise<RegistryUsage> {
  return (await readUsageOf(reader, [root])).get(root) ?? { manifests: 0, bytes: 0 }
}

/** Reads the usage of organizations; those that store nothing are left out. */
export async function readUsageOf(
  reader: Reader,
  roots: readonly string[],
): Promise<ReadonlyMap<string, RegistryUsage>> {
  if (roots.length === 0) return new Map()
  const rows = await reader
    .selectFrom('registry_usage')
    .select((row) => ['root', row.fn.sum('manifests').as('manifests'), row.fn.sum('bytes').as('bytes')])
    .where('root', 'in', roots)
    .groupBy('root')
    .execute()
  return new Map(
    rows.map(({ root, manifests, bytes }) => [
      root,
      { manifests: Number(manifests ?? 0), bytes: Number(bytes ?? 0) },
    ]),
  )
}

/** Returns the usage of all organizations; bytes that several have are counted for each. */
export async function readTotalUsage(db: Db): Promise<RegistryUsage> {
  const sql = sqlText(db.engine)
  const text =
    'select coalesce(sum(manifests), 0) as manifests, coalesce(sum(bytes), 0) as bytes from registry_usage'
  const [row] = await runText<RegistryUsage>(db, text, sql)
  return { manifests: Number(row?.manifests ?? 0), bytes: Number(row?.bytes ?? 0) }
}

/** Returns how many more bytes an organization may store; undefined without a limit. */
export async function remainingStorage(
  db: Db,
  root: string,
): Promise<{ readonly bytes: number; readonly exceeded: () => Error } | undefined> {
  const limit = (await readLimits(db, [root])).get(root)?.storage_mib
  if (limit === undefined) return undefined
  const { bytes } = await readUsage(db.kysely, root)
  return { bytes: limit * MIB - bytes, exceeded: () => storageExceeded(root, limit, bytes) }
}

/** Warnings start above this share of a limit. */
const WARNING_THRESHOLD = 0.9

export async function quotaWarnings(db: Db, root: string): Promise<string[]> {
  const { storage_mib, manifests } = (await readLimits(db, [root])).get(root) ?? {}
  if (storage_mib === undefined && manifests === undefined) return []
  const usage = await readUsage(db.kysely, root)
  const mib = Math.ceil(usage.bytes / MIB)
  return [
    storage_mib !== undefined && usage.bytes > storage_mib * MIB * WARNING_THRESHOLD
      ? `the organization stores ${mib} of at most ${storage_mib} MiB (storage_mib)`
      : '',
    manifests !== undefined && usage.manifests > manifests * WARNING_THRESHOLD
      ? `the organization stores ${usage.manifests} of at most ${manifests} manifests (manifests)`
      : '',
  ].filter((text) => text !== '')
}
