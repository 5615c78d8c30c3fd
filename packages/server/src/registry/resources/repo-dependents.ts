import { rootOf } from '../../api/uid.ts'
import type { Tx } from '../../storage/db.ts'

/** Data about a repo, and about an organization's registry, that is not a resource itself: it is deleted with them. */

export async function deleteRepoDependents(tx: Tx, repo: string): Promise<void> {
  for (const table of ['repo_readmes', 'deployments', 'repo_policies'] as const)
    await tx.deleteFrom(table).where('root', '=', rootOf(repo)).where('uid', '=', repo).execute()
}

export async function deleteRegistrySettings(tx: Tx, organization: string): Promise<void> {
  for (const table of ['registry_settings', 'registry_usage'] as const)
    await tx.deleteFrom(table).where('root', '=', organization).execute()
}
