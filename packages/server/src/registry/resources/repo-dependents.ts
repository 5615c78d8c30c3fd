import { rootOf } from '../../api/uid.ts'
import type { Tx } from '../../storage/db.ts'
import { deleteJobRuns } from '../../storage/jobs/job-runs.ts'

/** Data about a repo, and about an organization's registry, that is not a resource itself: it is deleted with them. */

export async function deleteRepoDependents(tx: Tx, repo: string): Promise<void> {
  for (const table of ['repo_readmes', 'deployments', 'repo_policies'] as const)
    await tx.deleteFrom(table).where('root', '=', rootOf(repo)).where('uid', '=', repo).execute()
  for (const table of ['policy_bindings', 'policy_overrides'] as const)
    await tx.deleteFrom(table).where('root', '=', rootOf(repo)).where('parent', '=', repo).execute()
  for (const table of ['repo_usage_days', 'image_signatures'] as const)
    await tx.deleteFrom(table).where('root', '=', rootOf(repo)).where('repo', '=', repo).execute()
  await tx.deleteFrom('scope_findings').where('root', '=', rootOf(repo)).where('scope', '=', repo).execute()
  await deleteJobRuns(tx, repo)
}

export async function deleteRegistrySettings(tx: Tx, organization: string): Promise<void> {
  for (const table of ['registry_settings', 'registry_usage', 'usage_days', 'signature_changes'] as const)
    await tx.deleteFrom(table).where('root', '=', organization).execute()
}
