import { pathOf, rootOf, type Uid } from '../../api/uid.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db } from '../../storage/db.ts'

const GROUPS_PER_STATEMENT = 200

/** Returns the names of groups by their uids; those that do not exist are missing. */
export async function readGroupNames(db: Db, uids: Iterable<string>): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(uids)]
  const names = new Map<string, string>()
  for (let at = 0; at < wanted.length; at += GROUPS_PER_STATEMENT) {
    await yieldToEventLoop()
    const batch = wanted.slice(at, at + GROUPS_PER_STATEMENT)
    // With its parent: SQLite would read the names of the whole organization from an index that has both of the other columns.
    const rows = await db.kysely
      .selectFrom('groups')
      .select(['uid', 'name', 'parent'])
      .where('root', 'in', [...new Set(batch.map(rootOf))])
      .where('uid', 'in', batch)
      .execute()
    for (const { uid, name } of rows) names.set(uid, name)
  }
  return names
}

/** Returns the names from the organization to a group, separated by `/`; a group without a name has its uid. */
export function groupPath(group: string, names: ReadonlyMap<string, string>): string {
  return pathOf(group as Uid)
    .map((uid) => names.get(uid) ?? uid)
    .join('/')
}
