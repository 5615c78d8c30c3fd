import { rootOf } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import type { Db } from '../../../storage/db.ts'
import { runLongText, sqlText } from '../../../storage/sql-text.ts'

/** Sizes of what tags point to. An index can have indexes as entries, which others have too: a page of tags can form a huge graph. */

const INDEX_DEPTH_MAX = 4
const DIGESTS_PER_STATEMENT = 500

type Children = ReadonlyMap<string, readonly string[]>

/** Returns the bytes of the blobs that each manifest needs, and for an index its images. Too large indexes have no size. */
export async function readSizes(
  db: Db,
  repo: string,
  digests: readonly string[],
  indexes: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const max = limits.tagManifestsMeasuredMax
  const children = await readChildren(db, repo, indexes, max)
  const measured = children === undefined ? digests.filter((digest) => !indexes.includes(digest)) : digests
  const needed = [...measured, ...[...(children?.values() ?? [])].flat()]
  const own = await readOwnSizes(db, repo, [...new Set(needed)])
  return sumSizes(measured, { children: children ?? new Map(), own, max })
}

/** Adds up sizes until `max` manifests have been visited. Each manifest counts once for each of `digests`. */
export async function sumSizes(
  digests: readonly string[],
  {
    children,
    own,
    max,
  }: { readonly children: Children; readonly own: ReadonlyMap<string, number>; readonly max: number },
): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  let visits = 0
  for (const digest of digests) {
    const seen = new Set([digest])
    let size = 0
    // The loop also reaches what is added meanwhile.
    for (const manifest of seen) {
      if (++visits > max) return sizes
      await yieldToEventLoop()
      size += own.get(manifest) ?? 0
      for (const child of children.get(manifest) ?? []) seen.add(child)
    }
    sizes.set(digest, size)
  }
  return sizes
}

/** Returns the manifests that indexes reference, and those of indexes among them; undefined if there are more than `max`. */
async function readChildren(
  db: Db,
  repo: string,
  indexes: readonly string[],
  max: number,
): Promise<Children | undefined> {
  const children = new Map<string, string[]>()
  let left = max
  let level = indexes
  for (let depth = 0; depth < INDEX_DEPTH_MAX && level.length > 0; depth++) {
    const next = new Set<string>()
    for (let at = 0; at < level.length; at += DIGESTS_PER_STATEMENT) {
      await yieldToEventLoop()
      const rows = await db.kysely
        .selectFrom('manifest_references')
        .select(['manifest', 'digest'])
        .where('root', '=', rootOf(repo))
        .where('repo', '=', repo)
        .where('manifest', 'in', level.slice(at, at + DIGESTS_PER_STATEMENT))
        .where('kind', '=', 'manifest')
        .limit(left + 1)
        .execute()
      left -= rows.length
      if (left < 0) return undefined
      for (const { manifest, digest } of rows) {
        const known = children.get(manifest)
        if (known === undefined) children.set(manifest, [digest])
        else known.push(digest)
        next.add(digest)
      }
    }
    level = [...next].filter((digest) => !children.has(digest))
  }
  return children
}

async function readOwnSizes(
  db: Db,
  repo: string,
  manifests: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  for (let at = 0; at < manifests.length; at += DIGESTS_PER_STATEMENT) {
    await yieldToEventLoop()
    const sql = sqlText(db.engine)
    const text = `select r.manifest as manifest, sum(b.size) as bytes from manifest_references r
      join repo_blobs b on b.root = r.root and b.repo = r.repo and b.digest = r.digest
      where r.root = ${sql.bind(rootOf(repo))} and r.repo = ${sql.bind(repo)} and r.kind = 'blob'
        and r.manifest in (${sql.bindAll(manifests.slice(at, at + DIGESTS_PER_STATEMENT))}) group by r.manifest`
    for (const { manifest, bytes } of await runLongText<{ manifest: string; bytes: number }>(db, text, sql))
      sizes.set(manifest, Number(bytes))
  }
  return sizes
}
