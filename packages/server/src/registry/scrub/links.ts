import { runLongText, sqlText } from '../../storage/sql-text.ts'
import { readStoredBlobs } from '../blobs/stored-blobs.ts'
import { findReposWithBlob } from './findings.ts'
import type { ScrubOptions } from './run.ts'

/** Finds links to bytes that are not in the database: an earlier scrub found them damaged, and they were not pushed again. */
export async function scrubLinks({ store: { db }, onFinding, signal }: ScrubOptions): Promise<void> {
  for (let after = ''; ; ) {
    signal?.throwIfAborted()
    const sql = sqlText(db.engine)
    const text = `select l.digest, max(l.size) as size from repo_blobs as l where l.digest > ${sql.bind(after)} group by l.digest order by l.digest limit ${sql.bind(DIGESTS_PER_STATEMENT)}`
    const rows = await runLongText<{ digest: string; size: number }>(db, text, sql)
    const stored = await readStoredBlobs(
      db.kysely,
      ['digest'],
      rows.map(({ digest }) => digest),
    )
    for (const { digest, size } of rows) {
      if (stored.has(digest)) continue
      // Garbage collection may have deleted both in the meantime.
      const repos = await findReposWithBlob(db, digest)
      if (repos.repoCount === 0) continue
      const reason = 'its bytes were missing or damaged; push them again to repair it'
      onFinding({
        kind: 'missing',
        what: 'blob',
        digest,
        location: '',
        bytes: Number(size),
        reason,
        repaired: true,
        ...repos,
      })
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < DIGESTS_PER_STATEMENT) return
    after = last.digest
  }
}

const DIGESTS_PER_STATEMENT = 1000
