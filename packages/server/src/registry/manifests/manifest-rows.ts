import { rootOf } from '../../api/uid.ts'
import type { Tx } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import { deleteManifests, lockRepoParts, unlinkBlobs } from '../quota/usage.ts'

/** Deletes all manifests and links of a locked repo. The bytes of its blobs stay for other repos. */
export async function deleteRepoImages(
  store: Pick<Store, 'db' | 'clock'>,
  tx: Tx,
  repo: string,
): Promise<void> {
  const { db } = store
  await lockRepoParts(db, tx, repo)
  await deleteManifests(store, tx, repo)
  await unlinkBlobs(db, tx, repo)
  const root = rootOf(repo)
  await tx.deleteFrom('uploads').where('root', '=', root).where('repo', '=', repo).execute()
  await tx.deleteFrom('signature_changes').where('root', '=', root).where('scope', '=', repo).execute()
}

/** Records that a manifest was pushed again or lost a tag, which restarts its retention period. */
export async function touchManifest(tx: Tx, repo: string, digest: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('manifests')
    .set({ touched_ms: nowMs })
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .execute()
}
