import { runLongText, sqlText } from '../../storage/sql-text.ts'
import { findReposWithBlob } from './findings.ts'
import type { ScrubOptions } from './run.ts'

/** Finds links to bytes that are not in the database: an earlier scrub found them damaged, and they were not pushed again. */
export async function scrubLinks({ store: { db }, onFinding, signal }: ScrubOptions): Promise<void> {
  for (let after = ''; ; ) {
    signal?.throwIfAborted()
    const sql = sqlText(db.engine)
    const text = `select l.digest, max(l.size) as size,
        case when exists (select 1 from blobs as b where b.digest = l.digest) then 1 else 0 end as stored
      from repo_blobs as l where l.digest > ${sql.bind(after)} group by l.digest order by l.digest limit ${sql.bind(DIGESTS_PER_STATEMENT)}`
    const rows = await runLongText<{ digest: string; size: number; stored: number }>(db, text, sql)
    for (const { digest, size, stored } of rows) {
      if (Number(stored) === 1) continue
      const known = await db.kysely
        .selectFrom('blobs')
        .select('digest')
        .where('digest', '=', digest)
        .executeTakeFirst()
      const repos = await findReposWithBlob(db, digest)
      if (known !== undefined || repos.repoCount === 0) continue
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
