import type { BlobRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { parseLocation } from './blob-locations.ts'
import type { StoredBlob, StoredUpload } from './blob-store.ts'

/** Returns the rows of blobs by their locations; untracked locations have none. */
export async function findBlobRows(
  { db }: Pick<Store, 'db'>,
  found: readonly Pick<StoredBlob, 'location'>[],
): Promise<ReadonlyMap<string, Pick<BlobRow, 'digest' | 'location' | 'size'>>> {
  const locations = new Map(found.map(({ location }) => [location, parseLocation(location)?.digest]))
  const digests = [...new Set(locations.values())].filter((digest) => digest !== undefined)
  if (digests.length === 0) return new Map()
  const rows = await db.kysely
    .selectFrom('blobs')
    .select(['digest', 'location', 'size'])
    .where('digest', 'in', digests)
    .execute()
  return new Map(rows.filter(({ location }) => locations.has(location)).map((row) => [row.location, row]))
}

/** Returns the ids of uploads that have a row. */
export async function findUploadIds(
  { db }: Pick<Store, 'db'>,
  found: readonly Pick<StoredUpload, 'id'>[],
): Promise<ReadonlySet<string>> {
  if (found.length === 0) return new Set()
  const ids = found.map(({ id }) => id)
  const rows = await db.kysely.selectFrom('uploads').select('id').where('id', 'in', ids).execute()
  return new Set(rows.map(({ id }) => id))
}
