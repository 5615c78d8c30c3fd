import { rootOf } from '../../api/uid.ts'
import type { Tx } from '../../storage/db.ts'
import { prepared } from '../../storage/prepared.ts'
import type { ManifestRow } from '../../storage/schema/tables.ts'
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

const setTouched = prepared(
  (db, { root, repo, digest, touched_ms }: Pick<ManifestRow, 'root' | 'repo' | 'digest' | 'touched_ms'>) =>
    db
      .updateTable('manifests')
      .set({ touched_ms })
      .where('root', '=', root)
      .where('repo', '=', repo)
      .where('digest', '=', digest),
)

/** Records that a manifest was pushed again or lost a tag, which restarts its retention period. */
export async function touchManifest(tx: Tx, repo: string, digest: string, nowMs: number): Promise<void> {
  await setTouched(tx, { root: rootOf(repo), repo, digest, touched_ms: nowMs })
}
