import { rootOf } from '../../api/uid.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db } from '../../storage/db.ts'
import { runLongText, sqlText } from '../../storage/sql-text.ts'

const PAGE = 2000

/**
 * Returns the size of the blobs of a repo that only some of its manifests reference. Reads the references by blob, so that it needs no memory
 * for them.
 */
export async function unreferencedBytes(
  db: Db,
  repo: string,
  deletedManifests: ReadonlySet<string>,
): Promise<number> {
  if (deletedManifests.size === 0) return 0
  let bytes = 0
  let current = { digest: '', isKept: true }
  let after: readonly [digest: string, manifest: string] = ['', '']
  for (;;) {
    const sql = sqlText(db.engine)
    const text = `select digest, manifest from manifest_references
      where root = ${sql.bind(rootOf(repo))} and repo = ${sql.bind(repo)} and (digest, manifest) > (${sql.bindAll(after)})
        and kind = 'blob' order by digest, manifest limit ${PAGE}`
    const rows = await runLongText<{ digest: string; manifest: string }>(db, text, sql)
    const unreferenced: string[] = []
    const endBlob = () => {
      if (!current.isKept) unreferenced.push(current.digest)
    }
    for (const { digest, manifest } of rows) {
      if (digest !== current.digest) {
        endBlob()
        current = { digest, isKept: false }
      }
      if (!deletedManifests.has(manifest)) current.isKept = true
    }
    const last = rows.at(-1)
    const isEnd = last === undefined || rows.length < PAGE
    if (isEnd) endBlob()
    bytes += await sizeOfBlobs(db, repo, unreferenced)
    if (isEnd) return bytes
    // A blob that is kept may have very many other references.
    after = current.isKept ? [last.digest, AFTER_DIGESTS] : [last.digest, last.manifest]
    await yieldToEventLoop()
  }
}

/** Greater than every digest. */
const AFTER_DIGESTS = '~'

const DIGESTS_PER_STATEMENT = 500

async function sizeOfBlobs(db: Db, repo: string, digests: readonly string[]): Promise<number> {
  let bytes = 0
  for (let at = 0; at < digests.length; at += DIGESTS_PER_STATEMENT) {
    const sql = sqlText(db.engine)
    const text = `select coalesce(sum(size), 0) as bytes from repo_blobs where root = ${sql.bind(rootOf(repo))}
      and repo = ${sql.bind(repo)} and digest in (${sql.bindAll(digests.slice(at, at + DIGESTS_PER_STATEMENT))})`
    const [row] = await runLongText<{ bytes: number }>(db, text, sql)
    bytes += Number(row?.bytes ?? 0)
  }
  return bytes
}
