import { randomInt } from 'node:crypto'
import { rootOf } from '../../api/uid.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { prepared } from '../../storage/prepared.ts'
import type { ManifestContentsRow } from '../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { queueFindingHistory } from './finding-history-changes.ts'

/**
 * Rows about the contents of manifests. They are created and deleted with their manifest; the room `contents` reads the images and writes
 * the rest (ADR 53).
 */

/** Of short keys. A conflict is improbable (1 in 140 million with 2 million rows); its transaction fails and is retried. */
const ID_MAX = 2 ** 48 - 1

export function newShortId(): number {
  return randomInt(ID_MAX)
}

interface ManifestKey {
  readonly repo: string
  readonly digest: string
}

/** The row of a manifest that was not read yet. */
export function unreadContents(
  { repo, digest }: ManifestKey,
  state: 'pending' | 'backlog',
  nowMs: number,
): ManifestContentsRow {
  const [root, id] = [rootOf(repo), newShortId()]
  return {
    root,
    uid: `${root}/${id.toString(16).padStart(12, '0')}`,
    id,
    repo,
    digest,
    state,
    reason: '',
    source: '',
    format: '',
    distribution_id: '',
    distribution_version: '',
    distribution_name: '',
    support_end_ms: 0,
    packages: 0,
    problems: 0,
    reader: 0,
    attempts: 0,
    read_ms: 0,
    due_ms: nowMs,
    runner: '',
    lease_ms: 0,
  }
}

const insertIfAbsent = prepared((db, row: ReturnType<typeof unreadContents>) =>
  db
    .insertInto('manifest_contents')
    .values(row)
    .onConflict((conflict) => conflict.columns(['root', 'repo', 'digest']).doNothing()),
)

/** Makes a new manifest due to be read. */
export async function queueReading(tx: Tx, manifest: ManifestKey, nowMs: number): Promise<void> {
  await insertIfAbsent(tx, unreadContents(manifest, 'pending', nowMs))
}

/** Tables whose rows belong to the contents of a manifest, by its `id` in their column `contents`. */
export const contentsTables = [
  'manifest_packages',
  'manifest_documents',
  'image_statements',
  'image_reports',
] as const

/**
 * Deletes what is known about the contents of manifests. Manifests that the deleted ones described are read again, and the tags of indexes
 * that contained them are counted again.
 */
export async function deleteContents(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  tx: Tx,
  repo: string,
  digests: readonly string[],
): Promise<void> {
  const root = rootOf(repo)
  const sql = sqlText(db.engine)
  const text = `delete from manifest_contents where root = ${sql.bind(root)} and repo = ${sql.bind(repo)}
    and digest in (${sql.bindAll(digests)}) returning id`
  for (const { id } of await runInTransaction<{ id: number }>(tx, text, sql)) {
    await yieldToEventLoop()
    for (const table of contentsTables)
      await tx.deleteFrom(table).where('root', '=', root).where('contents', '=', id).execute()
  }
  await tx
    .updateTable('manifest_contents')
    .set((row) => ({ state: 'pending', attempts: 0, due_ms: row('due_ms', '+', 1) }))
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('state', 'in', ['read', 'failed'])
    .where('id', 'in', (documents) =>
      documents
        .selectFrom('manifest_documents')
        .select('contents')
        .where('root', '=', root)
        .where('manifest', 'in', digests),
    )
    .execute()
  await queueFindingHistory(db, tx, root, 'tag', await tagsOfIndexes(db, tx, repo, digests), clock())
}

/** Returns the uids of tags whose index contains one of the manifests. */
async function tagsOfIndexes(
  db: Db,
  tx: Tx,
  repo: string,
  digests: readonly string[],
): Promise<readonly string[]> {
  const sql = sqlText(db.engine)
  const root = rootOf(repo)
  const text = `select distinct t.uid from manifest_references r join tags t on t.root = r.root and t.digest = r.manifest and t.parent = r.repo
    where r.root = ${sql.bind(root)} and r.repo = ${sql.bind(repo)} and r.digest in (${sql.bindAll(digests)}) and r.kind = 'manifest'`
  const rows = await runInTransaction<{ readonly uid: string }>(tx, text, sql)
  return rows.map(({ uid }) => uid)
}
