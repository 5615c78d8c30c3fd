import { rootOf } from '../../api/uid.ts'
import type { Grants } from '../../pipeline/authorization.ts'
import type { Tx } from '../../storage/db.ts'
import { type ResourceTable, resourceTables } from '../../storage/schema/tables.ts'

/** What depends on a group: resources that block its deletion, and data of other domains that is deleted with it. */

/** What one domain adds to changes of groups. serve/services.ts lists the domains. */
export interface GroupDependents {
  /** Deletes what the domain stores about a group that contains no resources. */
  deleteGroupData(tx: Tx, group: string): Promise<void>
  /** Throws code 7 if the caller may not rename the group. */
  readonly requireMayRename?: (tx: Tx, grants: Grants, group: string) => Promise<void>
  /** How to delete resources of the domain that block the deletion of a group, if it is not by a Delete method. */
  readonly deletionHints?: Readonly<Partial<Record<ResourceTable, (group: string) => string>>>
}

/** Labels in errors. All other resources use the name of their table. */
const labels: Readonly<Partial<Record<ResourceTable, string>>> = {
  account_associations: 'an account association',
  group_invites: 'invites',
}

/** Returns the tables with resources that block the deletion of a group (decision 12). */
export async function findContents(tx: Tx, group: string, nowMs: number): Promise<ResourceTable[]> {
  const found: ResourceTable[] = []
  for (const table of resourceTables) {
    let query = tx
      .selectFrom(table)
      .select('uid')
      .where('root', '=', rootOf(group))
      // An association has the uid of its group; all other resources are below it.
      .where(table === 'account_associations' ? 'uid' : 'parent', '=', group)
      .limit(1)
    if (table === 'role_bindings') query = query.where('automatic' as 'uid', '=', 0 as never)
    if (table === 'group_invites') query = query.where('expires_ms' as 'uid', '>', nowMs as never)
    if ((await query.execute()).length > 0) found.push(table)
  }
  return found
}

/** Returns the message of the error for a group that contains resources. */
export function contentsMessage(
  group: string,
  contents: readonly ResourceTable[],
  domains: readonly GroupDependents[],
): string {
  const names = contents.map((table) => labels[table] ?? table.replaceAll('_', ' '))
  const hints = contents.flatMap((table) =>
    domains.flatMap(({ deletionHints }) => deletionHints?.[table]?.(group) ?? []),
  )
  return [`group ${group} still contains ${names.join(', ')}`, ...hints].join('; ')
}

/** Returns the invites of a group that do not block its deletion: if `findContents` finds none, all of them. */
export async function findExpiredInvites(tx: Tx, group: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('group_invites')
    .select('uid')
    .where('root', '=', rootOf(group))
    .where('parent', '=', group)
    .execute()
  return rows.map(({ uid }) => uid)
}
