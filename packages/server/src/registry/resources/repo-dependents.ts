import { rootOf } from '../../api/uid.ts'
import type { Tx } from '../../storage/db.ts'

/** What is told of a repo, and of an organization's registry, beside the resources themselves: goes with them. */

export async function deleteRepoDependents(tx: Tx, repo: string): Promise<void> {
  for (const table of ['repo_readmes', 'deployments', 'repo_policies'] as const)
    await tx.deleteFrom(table).where('root', '=', rootOf(repo)).where('uid', '=', repo).execute()
}

export async function deleteRegistrySettings(tx: Tx, organization: string): Promise<void> {
  for (const table of ['registry_settings', 'registry_usage'] as const)
    await tx.deleteFrom(table).where('root', '=', organization).execute()
}
