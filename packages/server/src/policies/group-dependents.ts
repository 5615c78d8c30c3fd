import { rootOf } from '../api/uid.ts'
import type { GroupDependents } from '../iam/groups/dependents.ts'

/** Policies, bindings and overrides of a group, which are deleted with it: without repos they have no effect. */
export const policyGroupDependents: GroupDependents = {
  async deleteGroupData(tx, group) {
    const root = rootOf(group)
    for (const table of ['policies', 'policy_bindings', 'policy_overrides'] as const)
      await tx.deleteFrom(table).where('root', '=', root).where('parent', '=', group).execute()
    if (group !== root) return
    for (const table of ['policy_decisions', 'policy_revisions'] as const)
      await tx.deleteFrom(table).where('root', '=', root).execute()
  },
}
