import type { Group } from '#gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { timestampOf } from '../core/message.ts'
import type { ResourceLimits } from '../core/resource-limits.ts'
import type { Db, Tx } from '../storage/db.ts'
import { limitsIn } from '../storage/resource-limits.ts'
import type { GroupRow } from '../storage/tables.ts'

/** Groups as the API shows them. Organizations come with the limits that hold in them, which takes one more statement for all. */
export async function groupMessages(db: Db, rows: readonly GroupRow[], tx?: Tx): Promise<Group[]> {
  const organizations = rows.filter(({ parent }) => parent === '').map(({ uid }) => uid)
  const limits = await limitsIn(db, organizations, tx)
  return rows.map((row) => toGroup(row, limits.get(row.uid) ?? {}))
}

export async function groupMessage(db: Db, row: GroupRow, tx?: Tx): Promise<Group> {
  const [group] = await groupMessages(db, [row], tx)
  if (group === undefined) throw new Error('a row makes a group')
  return group
}

function toGroup(row: GroupRow, resourceLimits: ResourceLimits): Group {
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
