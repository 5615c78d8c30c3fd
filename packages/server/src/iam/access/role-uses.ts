import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import type { RoleUse } from '@berth/contract/gen/berth/iam/v1/access_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { subtreeRange, type Uid } from '../../api/uid.ts'
import { authorizationOf } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { runLongText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'

interface UseRow {
  readonly role: string
  readonly kind: 'bindings' | 'providers' | 'mappings' | 'invites'
  readonly n: number | string
  readonly users: number | string
  readonly workloads: number | string
}

/** Counts what uses each role in a group and its descendants, in one statement, as far as the caller can read it. */
export async function countRoleUses(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  call: Call,
  { uid, root }: { readonly uid: Uid; readonly root: Uid },
): Promise<RoleUse[]> {
  const { grants } = authorizationOf(call)
  const canRead = (capability: Capability) => includesAll(grants.at(uid), capabilitySetOf([capability]))
  const sql = sqlText(db.engine)
  const parts = [
    `select b.role_uid as role, 'bindings' as kind, count(*) as n,
        count(distinct case when length(b.identity_uid) = 40 then b.identity_uid end) as users,
        count(distinct case when length(b.identity_uid) > 40 then b.identity_uid end) as workloads
      from role_bindings b where ${withinSql(sql, 'b', root, uid)} group by b.role_uid`,
  ]
  const count = (table: string, column: string, kind: UseRow['kind'], condition = '') =>
    `select t.${column}, '${kind}', count(*), 0, 0 from ${table} t
      where ${withinSql(sql, 't', root, uid)} ${condition} group by t.${column}`
  if (canRead(Capability.CAP_IAM_IDENTITY_PROVIDERS_LIST))
    parts.push(
      count('identity_providers', 'default_role', 'providers'),
      count('external_group_role_mappings', 'role_uid', 'mappings'),
    )
  if (canRead(Capability.CAP_IAM_GROUP_INVITES_LIST)) {
    const within = withinSql(sql, 't', root, uid)
    parts.push(`select t.role_uid, 'invites', count(*), 0, 0 from group_invites t
      where ${within} and t.expires_ms > ${sql.bind(clock())} group by t.role_uid`)
  }
  const rows = await runLongText<UseRow>(db, `${parts.join(' union all ')} order by role`, sql)
  return [...Map.groupBy(rows, ({ role }) => role)]
    .filter(([role]) => role !== '')
    .map(([role, of]) => {
      const find = (kind: UseRow['kind']) => of.find((row) => row.kind === kind)
      const numberOf = (kind: UseRow['kind']) => Number(find(kind)?.n ?? 0)
      return {
        $typeName: 'berth.iam.v1.RoleUse',
        role,
        users: Number(find('bindings')?.users ?? 0),
        workloads: Number(find('bindings')?.workloads ?? 0),
        roleBindings: numberOf('bindings'),
        identityProviders: numberOf('providers'),
        externalGroups: numberOf('mappings'),
        invites: numberOf('invites'),
      }
    })
}

function withinSql(sql: SqlText, table: string, root: Uid, uid: Uid): string {
  const { from, to } = subtreeRange(uid)
  return `${table}.root = ${sql.bind(root)} and ${table}.uid >= ${sql.bind(from)} and ${table}.uid < ${sql.bind(to)}`
}
