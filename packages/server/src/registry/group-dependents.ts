import { rootOf } from '../api/uid.ts'
import type { GroupDependents } from '../iam/groups/dependents.ts'
import { requireMayFreePath } from './policies/policy-protection.ts'
import { deleteRegistrySettings } from './resources/repo-dependents.ts'

/** What the registry adds to changes of groups. */
export const registryGroupDependents: GroupDependents = {
  async deleteGroupData(tx, group) {
    if (group === rootOf(group)) await deleteRegistrySettings(tx, group)
  },
  requireMayRename: (tx, grants, group) => requireMayFreePath(tx, grants, group, 'renaming a group above'),
}
