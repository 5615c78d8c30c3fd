import { createHash } from 'node:crypto'
import type { Distribution, ImageContents, ImagePackage } from '@berth/image-contents/contents.ts'
import { distributionTypes } from '@berth/image-contents/end-of-life.ts'
import { newShortId } from '../../registry/manifests/contents-rows.ts'
import { insertRows } from '../../storage/bulk-rows.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import type { PackageRow } from '../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'

/** Packages of an organization, each stored once however many images contain it. */

const KEYS_PER_STATEMENT = 500

/** Returns the distinct packages by key. */
export function packageRows(
  root: string,
  { packages, distribution }: ImageContents,
): Map<string, PackageRow> {
  const rows = new Map<string, PackageRow>()
  for (const found of packages) {
    const row = packageRow(root, found, distribution)
    if (!rows.has(row.key)) rows.set(row.key, row)
  }
  return rows
}

function packageRow(root: string, found: ImagePackage, distribution: Distribution | undefined): PackageRow {
  const { purl, type, namespace, name, version, architecture, license, origin } = found
  const columns = {
    type,
    namespace,
    name,
    version,
    origin_name: origin?.name ?? '',
    origin_version: origin?.version ?? '',
    purl,
    architecture,
    license,
    distribution:
      distribution !== undefined && distributionTypes.has(type)
        ? `${distribution.id} ${distribution.versionId}`.trim()
        : '',
  }
  const key = createHash('sha256').update(JSON.stringify(columns)).digest('hex').slice(0, 32)
  return { root, id: newShortId(), key, ...columns, matched_ms: 0 }
}

/** Inserts the packages that do not exist, in small transactions: an image may have thousands. */
export async function insertPackages(db: Db, rows: ReadonlyMap<string, PackageRow>): Promise<void> {
  for (const batch of batches(sorted(rows)))
    await inTransaction(db, (tx) => insertRows(db, tx, 'packages', batch, { ifAbsent: true }))
}

/**
 * Returns the ids of packages by key, whose rows are locked against deletion until the transaction ends. Packages that were deleted since they were
 * inserted are inserted again.
 */
export async function lockPackages(
  db: Db,
  tx: Tx,
  rows: ReadonlyMap<string, PackageRow>,
): Promise<ReadonlyMap<string, number>> {
  const ids = new Map<string, number>()
  for (const batch of batches(sorted(rows))) {
    let found = await lockKeys(db, tx, batch)
    if (found.length < batch.length) {
      await insertRows(db, tx, 'packages', batch, { ifAbsent: true })
      found = await lockKeys(db, tx, batch)
    }
    if (found.length < batch.length) throw new Error('packages are deleted while they are inserted')
    for (const { key, id } of found) ids.set(key, Number(id))
  }
  return ids
}

type PackageId = Pick<PackageRow, 'id' | 'key'>

async function lockKeys(db: Db, tx: Tx, rows: readonly PackageRow[]): Promise<PackageId[]> {
  const sql = sqlText(db.engine)
  const text = `select id, key from packages where root = ${sql.bind(rows[0]?.root ?? '')}
    and key in (${sql.bindAll(rows.map(({ key }) => key))}) order by key${db.rules.lockForShare}`
  return runInTransaction<PackageId>(tx, text, sql)
}

/** All transactions lock packages in this order. */
function sorted(rows: ReadonlyMap<string, PackageRow>): PackageRow[] {
  return [...rows.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
}

function* batches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += KEYS_PER_STATEMENT) yield all.slice(at, at + KEYS_PER_STATEMENT)
}
