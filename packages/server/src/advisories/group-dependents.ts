import { pathBelowRoot, rootOf } from '../api/uid.ts'
import type { GroupDependents } from '../iam/groups/dependents.ts'
import type { Tx } from '../storage/db.ts'
import { queueGroupDeletion } from './packages/advisory-packages.ts'

/** What the advisories add to changes of groups. */
export const advisoryGroupDependents: GroupDependents = {
  deleteGroupData,
  deletionHints: {
    // Advisories have no Delete method.
    advisories: (group) =>
      `they are deleted with their documents: berth advisories documents delete --all --parent ${group}`,
  },
}

/** Deletes what is stored about the advisories of a group that has no advisories left. */
async function deleteGroupData(tx: Tx, group: string): Promise<void> {
  const root = rootOf(group)
  if (group !== root) await queueGroupDeletion(tx, group)
  // First, as imports and jobs lock it first.
  await tx.deleteFrom('advisory_groups').where('root', '=', root).where('uid', '=', group).execute()
  for (const table of [
    'withdrawn_advisories',
    'advisory_documents',
    'advisory_sources',
    'advisory_scores',
    'cve_blocks',
    'vulnerability_records',
    'record_segments',
    'record_blocks',
    'record_gaps',
    'record_index_changes',
    'advisory_part_counts',
  ] as const)
    await tx.deleteFrom(table).where('root', '=', root).where('parent', '=', group).execute()
  await tx
    .deleteFrom('advisory_posting_counts')
    .where('root', '=', root)
    .where('parent', '=', pathBelowRoot(group))
    .execute()
  if (group === root) await tx.deleteFrom('advisory_suffixes').where('root', '=', root).execute()
}
