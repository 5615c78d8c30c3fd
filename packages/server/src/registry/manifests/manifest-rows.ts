import { rootOf } from '../../api/uid.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { deleteManifests, lockRepoParts, unlinkBlobs } from '../quota/usage.ts'

/** Takes away what was pushed to a repo that is held. The bytes of its blobs stay for whoever else has them. */
export async function deleteRepoImages(db: Db, tx: Tx, repo: string): Promise<void> {
  await lockRepoParts(db, tx, repo)
  await deleteManifests(db, tx, repo)
  await unlinkBlobs(db, tx, repo)
  await tx.deleteFrom('uploads').where('root', '=', rootOf(repo)).where('repo', '=', repo).execute()
}

/** Notes that a manifest was pushed once more, or has lost a tag: as of now nobody may say that it was left alone. */
export async function touchManifest(tx: Tx, repo: string, digest: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('manifests')
    .set({ touched_ms: nowMs })
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .execute()
}
