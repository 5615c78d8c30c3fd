import { rootOf } from '../core/uid.ts'
import type { Tx } from '../storage/db.ts'

/** Takes away what was pushed to a repo that is held. The bytes of its blobs stay for whoever else has them. */
export async function deleteImages(tx: Tx, repo: string): Promise<void> {
  for (const table of ['manifests', 'manifest_references', 'repo_blobs', 'uploads'] as const)
    await tx.deleteFrom(table).where('root', '=', rootOf(repo)).where('repo', '=', repo).execute()
}
