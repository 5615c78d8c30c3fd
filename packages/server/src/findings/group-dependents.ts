import { rootOf } from '../api/uid.ts'
import type { GroupDependents } from '../iam/groups/dependents.ts'

/** What findings add to changes of groups: they are deleted with their organization. */
export const findingGroupDependents: GroupDependents = {
  async deleteGroupData(tx, group) {
    const root = rootOf(group)
    if (group !== root) return
    for (const table of [
      'advisory_packages',
      'package_names',
      'package_findings',
      'vulnerability_ids',
      'vulnerability_facts',
      'finding_changes',
      'finding_history_changes',
    ] as const)
      await tx.deleteFrom(table).where('root', '=', root).execute()
  },
}
