import { notFound } from '../../api/errors.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { RepoRow } from '../../storage/schema/tables.ts'

/** What repos are called in errors. */
export const REPO_TYPE = 'registry.chainguard.dev/Repo'

/**
 * The repo in which a tag is being written, this transaction's alone: its deletion waits, and so does whoever writes a tag of the
 * same name. Throws code 5 when there is no such repo.
 */
export async function lockRepo(db: Db, tx: Tx, uid: string): Promise<RepoRow> {
  const row = await lockResource(db, tx, 'repos', uid, 'update')
  if (row === undefined) throw notFound(REPO_TYPE, uid)
  return row
}
