import type { Group } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { timestampOf } from '../../api/messages.ts'
import type { ResourceLimits } from '../../api/resource-limits.ts'
import { isRoot } from '../../api/uid.ts'
import { readLimits } from '../../storage/counts/resource-limits.ts'
import type { Db, Tx } from '../../storage/db.ts'
import type { GroupRow } from '../../storage/schema/tables.ts'

/** All but the root and the parent, which are long, and which the uid contains. */
export const groupColumns = [
  'uid',
  'name',
  'description',
  'verified',
  'created_ms',
  'updated_ms',
  'kind',
  'status',
] as const satisfies readonly (keyof GroupRow)[]

export type GroupColumn = (typeof groupColumns)[number]
type ShownRow = Pick<GroupRow, GroupColumn>

/** Returns groups as the API shows them. Organizations include their effective limits, read in one statement. */
export function groupMessages(db: Db, rows: readonly ShownRow[], tx?: Tx): Promise<Group[]> | Group[] {
  const organizations = rows.filter(({ uid }) => isRoot(uid)).map(({ uid }) => uid)
  if (organizations.length === 0) return rows.map((row) => toGroup(row))
  return readLimits(db, organizations, tx).then((limits) =>
    rows.map((row) => toGroup(row, limits.get(row.uid))),
  )
}

export function groupMessage(db: Db, row: ShownRow, tx?: Tx): Promise<Group> | Group {
  if (!isRoot(row.uid)) return toGroup(row)
  return readLimits(db, [row.uid], tx).then((limits) => toGroup(row, limits.get(row.uid)))
}

function toGroup(row: ShownRow, resourceLimits: ResourceLimits = {}): Group {
  return {
    $typeName: 'chainguard.platform.iam.v2beta1.Group',
    uid: row.uid,
    name: row.name,
    description: row.description,
    resourceLimits: { ...resourceLimits },
    verified: row.verified === 1,
    createTime: timestampOf(row.created_ms),
    updateTime: timestampOf(row.updated_ms),
    kind: row.kind,
    status: row.status,
  }
}
