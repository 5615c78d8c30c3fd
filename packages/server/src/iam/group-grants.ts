import { type CapabilitySet, noCapabilities, union } from '@berth/contract/capabilities.ts'
import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { rootOf } from '../api/uid.ts'
import type { Db } from '../storage/db.ts'
import { runText, sqlText } from '../storage/sql-text.ts'
import { capabilitiesOf } from './grants-reader.ts'

interface BindingRow {
  readonly scope: string
  readonly role_uid: string
  readonly capabilities: string | null
}

/**
 * Returns the capabilities that role bindings in some groups give an identity, without those of the groups above, and at '' those that it
 * has on the platform, in one statement. For an identity that no identity provider vouches for.
 */
export async function readGroupGrants(
  db: Db,
  identity: string,
  groups: readonly string[],
): Promise<ReadonlyMap<string, CapabilitySet>> {
  const byGroup = new Map<string, CapabilitySet>()
  if (groups.length === 0) return byGroup
  const sql = sqlText(db.engine)
  const roots = [...new Set(groups.map(rootOf))]
  const hint = sql.rules.needsPlanHints ? ' indexed by role_bindings_taken' : ''
  const text = `select b.parent as scope, b.role_uid, r.capabilities
    from role_bindings b${hint} left join roles r on r.root = substr(b.role_uid, 1, 40) and r.uid = b.role_uid
    where b.root in (${sql.bindAll(roots)}) and b.parent in (${sql.bindAll(groups)})
      and b.identity_uid = ${sql.bind(identity)} and coalesce((select o.status from groups o where o.root = b.root and o.uid = b.root
        and o.root in (${sql.bindAll(roots)})), 0) <> ${OrgStatus.SUSPENDED}
    union all select '', p.role_uid, null from platform_bindings p where p.identity_uid = ${sql.bind(identity)}`
  for (const { scope, role_uid, capabilities } of await runText<BindingRow>(db, text, sql))
    byGroup.set(
      scope,
      union(byGroup.get(scope) ?? noCapabilities, capabilitiesOf(scope, role_uid, capabilities)),
    )
  return byGroup
}
