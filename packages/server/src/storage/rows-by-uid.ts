import { rootOf } from '../api/uid.ts'
import type { Reader } from './db.ts'
import type { ResourceTable, Tables } from './schema/tables.ts'

/** Reads columns of the rows with these uids in one statement. uids without a row are left out. */
export async function readRowsByUid<C extends ResourceTable, K extends keyof Tables[C] & string>(
  db: Reader,
  collection: C,
  columns: readonly K[],
  all: readonly string[],
): Promise<ReadonlyMap<string, Pick<Tables[C], K> & { readonly uid: string }>> {
  if (all.length === 0) return new Map()
  const uids = [...new Set(all)]
  const rows = await db
    .selectFrom(collection as ResourceTable)
    .where('root', 'in', [...new Set(uids.map(rootOf))])
    .where('uid', 'in', uids)
    .select(['uid', ...(columns as readonly string[] as readonly 'uid'[])])
    .execute()
  return new Map(rows.map((row) => [row.uid, row as unknown as Pick<Tables[C], K> & { uid: string }]))
}
