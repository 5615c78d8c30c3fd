import type { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import type { ResourceKind } from '../../api/resource-limits.ts'
import { setLimits } from '../../storage/counts/resource-limits.ts'
import type { Tx } from '../../storage/db.ts'
import { nextUpdateMs, updateResource } from '../../storage/resource-rows.ts'
import type { GroupRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'

/** Settings of an organization as a whole. */

export interface OrganizationChange {
  readonly status?: OrgStatus | undefined
  /** undefined removes a limit. */
  readonly limits: ReadonlyMap<ResourceKind, number | undefined>
}

/** Changes what only the operator can set. The organization is locked. */
export async function updateOrganization(
  store: Pick<Store, 'clock'>,
  tx: Tx,
  row: GroupRow,
  { status, limits }: OrganizationChange,
): Promise<void> {
  const updatedMs = nextUpdateMs(store, row)
  if (status !== undefined && status !== row.status)
    await updateAllGroups(tx, row.root, { status }, updatedMs)
  if (limits.size === 0) return
  await setLimits(tx, row.root, limits)
  await updateResource(tx, 'groups', row.uid, { updated_ms: updatedMs })
}

/**
 * Copies to all groups of an organization what they show of it. Repeats until none is left: a group that was being created meanwhile has
 * the old values of its parent and locks it, so the first round has waited for it.
 */
export async function updateAllGroups(
  tx: Tx,
  root: string,
  change: Pick<GroupRow, 'kind'> | Pick<GroupRow, 'status'>,
  updatedMs: number,
): Promise<void> {
  const [[column, value] = ['', 0]] = Object.entries(change)
  for (let hasMore = true; hasMore; ) {
    const { numUpdatedRows } = await tx
      .updateTable('groups')
      .set((group) => ({
        ...change,
        // Later than before, because the time is the version of the group.
        updated_ms: group
          .case()
          .when('updated_ms', '>=', updatedMs)
          .then(group('updated_ms', '+', 1))
          .else(updatedMs)
          .end(),
      }))
      .where('root', '=', root)
      .where(column as 'kind' | 'status', '!=', value)
      .executeTakeFirst()
    hasMore = numUpdatedRows > 0n
  }
}
