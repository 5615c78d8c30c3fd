import { rootOf } from '../api/uid.ts'
import type { GroupDependents } from '../iam/groups/dependents.ts'

/** What findings add to changes of groups: the history of a group is deleted with it, all others with the organization. */
export const findingGroupDependents: GroupDependents = {
  async deleteGroupData(tx, group) {
    const root = rootOf(group)
    await tx.deleteFrom('scope_findings').where('root', '=', root).where('scope', '=', group).execute()
    if (group !== root) return
    for (const table of [
      'advisory_packages',
      'package_names',
      'package_findings',
      'vulnerability_ids',
      'vulnerability_facts',
      'finding_changes',
      'finding_history_changes',
      'scope_findings',
    ] as const)
      await tx.deleteFrom(table).where('root', '=', root).execute()
  },
}
