import { pathBelowRoot, rootOf } from '../api/uid.ts'
import type { Tx } from '../storage/db.ts'

/** Deletes the remaining rows of a group without advisories, when the group is deleted. */
export async function deleteAdvisoryDependents(tx: Tx, group: string): Promise<void> {
  const root = rootOf(group)
  for (const table of [
    'withdrawn_advisories',
    'advisory_documents',
    'advisory_sources',
    'advisory_scores',
    'advisory_part_counts',
  ] as const)
    await tx.deleteFrom(table).where('root', '=', root).where('parent', '=', group).execute()
  await tx.deleteFrom('advisory_groups').where('root', '=', root).where('uid', '=', group).execute()
  await tx
    .deleteFrom('advisory_posting_counts')
    .where('root', '=', root)
    .where('parent', '=', pathBelowRoot(group))
    .execute()
  if (group === root) await tx.deleteFrom('advisory_suffixes').where('root', '=', root).execute()
}
