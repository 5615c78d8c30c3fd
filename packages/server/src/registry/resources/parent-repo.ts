import { notFound } from '../../api/errors.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { lockResource, readResource } from '../../storage/resource-rows.ts'
import type { RepoRow } from '../../storage/schema/tables.ts'

/** The type of repos in errors. */
export const REPO_TYPE = 'registry.chainguard.dev/Repo'

/** The type of manifests in errors. */
export const MANIFEST_TYPE = 'registry.chainguard.dev/Manifest'

/**
 * Locks the repo in which a tag is written: its deletion waits, and so do other writes of a tag with the same name. Throws code 5 if there
 * is no such repo.
 */
export async function lockRepo(db: Db, tx: Tx, uid: string): Promise<RepoRow> {
  const row = await lockResource(db, tx, 'repos', uid, 'update')
  if (row === undefined) throw notFound(REPO_TYPE, uid)
  return row
}

/** Locks the repo (FOR SHARE), so that it is not deleted before the transaction ends. Throws `missing` if it does not exist. */
export async function lockRepoForShare(
  db: Db,
  tx: Tx,
  uid: string,
  missing: () => Error = () => notFound(REPO_TYPE, uid),
): Promise<void> {
  if ((await lockResource(db, tx, 'repos', uid, 'share')) === undefined) throw missing()
}

/** Returns a repo. Throws code 5 if it does not exist. */
export async function requireRepo(db: Db, uid: string): Promise<RepoRow> {
  const row = await readResource(db, 'repos', uid)
  if (row === undefined) throw notFound(REPO_TYPE, uid)
  return row
}
