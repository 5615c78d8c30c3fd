import { rootOf } from '../../api/uid.ts'
import { deleteUnboundOrganization, findUnboundOrganizations } from '../../iam/identities/organizations.ts'
import {
  deleteUninvitingOrganization,
  findUninvitingOrganizations,
} from '../../iam/invites/invited-organizations.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import { findOrphanedRows, type OrphanedRows } from '../../storage/schema/table-ownership.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { deleteContents } from '../manifests/contents-rows.ts'
import { deleteRepoImages } from '../manifests/manifest-rows.ts'
import { forEachBatch } from '../quota/usage.ts'
import {
  deleteOrganizationWithoutCopies,
  findOrganizationsWithoutCopies,
} from '../resources/sources/copying-organizations.ts'
import { type GcRun, pauseBetweenBatches } from './run.ts'

/**
 * Deletes rows of resources that no longer exist: a node of the previous version does not delete from tables that only this version
 * knows. Uids are unique, so such rows are never needed again. Also deletes rows that name an organization
 * in which an identity has no role bindings, an email address no invite, or a repo no copy, any more.
 */
export async function collectOrphanedRows(run: GcRun): Promise<void> {
  const { store, dryRun, tally, onProgress } = run
  const seen = new Set<string>()
  for await (const found of findOrphanedRows(store.db)) {
    const { table, owner } = found
    const key = `${isImageTable(table) ? 'images' : table} ${owner}`
    if (seen.has(key)) continue
    seen.add(key)
    if (!dryRun) await deleteOrphanedRows(store, found)
    tally.count('orphans', 0)
    onProgress?.({ step: 'orphans', seen: seen.size, report: tally.report() })
    await pauseBetweenBatches(run, 1)
  }
  for await (const row of findUnboundOrganizations(store.db)) {
    // Of an identity that does not exist.
    if (seen.has(`identity_organizations ${row.identity_uid}`)) continue
    if (!dryRun) await deleteUnboundOrganization(store, row)
    tally.count('orphans', 0)
    await pauseBetweenBatches(run, 1)
  }
  for await (const row of findOrganizationsWithoutCopies(store.db)) {
    if (!dryRun) await deleteOrganizationWithoutCopies(store, row)
    tally.count('orphans', 0)
    await pauseBetweenBatches(run, 1)
  }
  for await (const rows of findUninvitingOrganizations(store.db)) {
    if (!dryRun) await deleteUninvitingOrganization(store, rows)
    for (const _ of rows) tally.count('orphans', 0)
    await pauseBetweenBatches(run, rows.length)
  }
}

/** Images count towards their organization, so they are deleted together with their counts. */
function isImageTable(table: string): boolean {
  return ['manifests', 'manifest_references', 'manifest_contents', 'repo_blobs', 'uploads'].includes(table)
}

function deleteOrphanedRows(
  store: Pick<Store, 'db' | 'clock'>,
  { table, ownership: { column: by }, owner }: OrphanedRows,
): Promise<void> {
  const { db } = store
  return inTransaction(db, async (tx) => {
    const areImages = isImageTable(table)
    if (areImages) {
      await deleteRepoImages(store, tx, owner)
      await deleteOrphanedContents(store, tx, owner)
    }
    const sql = sqlText(db.engine)
    // Deleted images may have left references.
    const text = `delete from ${areImages ? 'manifest_references' : table}
      where ${areImages ? 'repo' : by} = ${sql.bind(owner)} and root = ${sql.bind(rootOf(owner))}`
    await runInTransaction(tx, text, sql)
  })
}

/** Deletes the contents of a repo whose manifests were deleted without them, with the rows that belong to the contents. */
async function deleteOrphanedContents(
  store: Pick<Store, 'db' | 'clock'>,
  tx: Tx,
  repo: string,
): Promise<void> {
  await forEachBatch(store.db, tx, 'manifest_contents', repo, async (digests) => {
    await deleteContents(store, tx, repo, digests)
    return []
  })
}
