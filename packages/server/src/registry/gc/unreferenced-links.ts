import { rootOf } from '../../api/uid.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import { runInTransaction, runLongText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { unlinkBlobs } from '../quota/usage.ts'
import { batches, type GcRun, pauseBetweenBatches, ROWS_PER_READ } from './run.ts'

/**
 * Deletes links to blobs that no manifest of the repo references, once they are older than the grace period. A push of a manifest locks
 * the links that it references; here they are locked before references are looked up. So one waits for the other.
 */

interface Link {
  readonly root: string
  readonly repo: string
  readonly digest: string
  readonly size: number
}

export async function collectUnreferencedLinks(run: GcRun): Promise<void> {
  const { store, dryRun, tally, onProgress } = run
  let [seen, recorded] = [0, '']
  for await (const page of pagesOfLinks(store.db, run.cutoffMs)) {
    seen += page.length
    const unreferenced = page.filter((link) => Number(link.unneeded) === 1)
    for (const [repo, links] of Map.groupBy(unreferenced, (link) => link.repo))
      for (const batch of batches(links)) {
        const deleted = dryRun ? batch : await deleteLinks(run, repo, batch, recorded !== repo)
        if (deleted.length > 0) recorded = repo
        for (const { root, size } of deleted) tally.count('links', Number(size), root)
        await pauseBetweenBatches(run, deleted.length)
      }
    onProgress?.({ step: 'links', seen, report: tally.report() })
    await pauseBetweenBatches(run, 0)
  }
}

/** The condition that a manifest of its repo references link `l`. */
const REFERENCED = `exists (select 1 from manifest_references as r
  where r.root = l.root and r.repo = l.repo and r.digest = l.digest and r.kind = 'blob')`

/** All links in the order of their key; `unneeded` is 1 for those that are old enough and unreferenced. */
async function* pagesOfLinks(db: Db, cutoffMs: number): AsyncGenerator<(Link & { unneeded: number })[]> {
  for (let after: Pick<Link, 'root' | 'repo' | 'digest'> = { root: '', repo: '', digest: '' }; ; ) {
    const sql = sqlText(db.engine)
    const text = `select l.root, l.repo, l.digest, l.size,
        case when l.linked_ms <= ${sql.bind(cutoffMs)} and not ${REFERENCED} then 1 else 0 end as unneeded
      from repo_blobs as l where (l.root, l.repo, l.digest) > (${sql.bindAll([after.root, after.repo, after.digest])})
      order by l.root, l.repo, l.digest limit ${sql.bind(ROWS_PER_READ)}`
    const page = await runLongText<Link & { unneeded: number }>(db, text, sql)
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < ROWS_PER_READ) return
    after = last
  }
}

/** Deletes links of one repo; `record`: whether the run has yet to record an audit event for it. */
async function deleteLinks(
  { store, cutoffMs, nowMs }: GcRun,
  repo: string,
  candidates: readonly Link[],
  record: boolean,
): Promise<Link[]> {
  const { db } = store
  const digests = candidates.map(({ digest }) => digest)
  const condition = (sql: SqlText) =>
    `l.root = ${sql.bind(rootOf(repo))} and l.repo = ${sql.bind(repo)} and l.digest in (${sql.bindAll(digests)})
      and l.linked_ms <= ${sql.bind(cutoffMs)}`
  return inTransaction(db, async (tx) => {
    // Locked exclusively and in order: two runs that delete the same links must not deadlock.
    if ((await lockResource(db, tx, 'repos', repo, 'share')) === undefined) return []
    const { lockForUpdate } = db.rules
    if (lockForUpdate !== '') {
      const sql = sqlText(db.engine)
      const text = `select 1 from repo_blobs as l where ${condition(sql)} order by l.digest${lockForUpdate}`
      await runInTransaction(tx, text, sql)
    }
    // A separate statement: it sees what was committed while the one before waited.
    const sql = sqlText(db.engine)
    const text = `select l.root, l.repo, l.digest, l.size from repo_blobs as l where ${condition(sql)} and not ${REFERENCED}`
    const links = await runInTransaction<Link>(tx, text, sql)
    await unlinkBlobs(
      db,
      tx,
      repo,
      links.map(({ digest }) => digest),
    )
    if (record && links.length > 0) await recordCollection(tx, repo, nowMs)
    return links
  })
}

/** Records an audit event in the organization. */
function recordCollection(tx: Tx, repo: string, nowMs: number): Promise<void> {
  return recordEvent(tx, {
    timeMs: nowMs,
    actor: 'system',
    method: 'berth.registry.v1.Distribution/CollectBlobs',
    uid: repo,
    requestId: '',
    address: '',
  })
}
