import { rootOf } from '../api/uid.ts'
import type { Db, Reader, Tx } from './db.ts'
import { readReachable } from './list/lost-servers.ts'
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

/**
 * Like readRowsByUid, for rows of users, which may be on a lost server of a distributed database: `isUnread` returns whether the row of a uid
 * could not be read. A transaction fails instead, if it is the first to notice.
 */
export async function readReachableRows<C extends ResourceTable, K extends keyof Tables[C] & string>(
  db: Db,
  collection: C,
  columns: readonly K[],
  all: readonly string[],
  tx?: Tx,
): Promise<{
  readonly rows: ReadonlyMap<string, Pick<Tables[C], K> & { readonly uid: string }>
  isUnread(uid: string): boolean
}> {
  const byRoot = Map.groupBy<string, string>(new Set(all), rootOf)
  const { rows, unread } = await readReachable(
    db,
    [...byRoot.keys()],
    async (roots) => {
      const uids = roots.flatMap((root) => byRoot.get(root) ?? [])
      return [...(await readRowsByUid(tx ?? db.kysely, collection, columns, uids)).values()]
    },
    { tx },
  )
  return {
    rows: new Map(rows.map((row) => [row.uid, row])),
    isUnread: (uid) => unread.has(rootOf(uid)),
  }
}
