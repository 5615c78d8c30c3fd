import { rootOf } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'

export interface ManifestTags {
  readonly names: readonly string[]
  readonly count: number
}

/** Returns the first tags, by name, that point to each of some digests, and how many there are, in one statement. */
export async function readManifestTags(
  db: Db,
  repo: string,
  digests: readonly string[],
  namesMax: number,
): Promise<ReadonlyMap<string, ManifestTags>> {
  if (digests.length === 0) return new Map()
  const sql = sqlText(db.engine)
  const hint = sql.rules.needsPlanHints ? ' indexed by tags_by_digest' : ''
  const text = `select digest, name, n from (
      select digest, name, count(*) over (partition by digest) as n,
        row_number() over (partition by digest order by name) as place
      from tags${hint}
      where root = ${sql.bind(rootOf(repo))} and digest in (${sql.bindAll(digests)}) and parent = ${sql.bind(repo)}
    ) as numbered where place <= ${sql.bind(namesMax)} order by digest, name`
  const tags = new Map<string, { readonly names: string[]; readonly count: number }>()
  for (const { digest, name, n } of await runText<{ digest: string; name: string; n: number }>(
    db,
    text,
    sql,
  )) {
    const known = tags.get(digest)
    if (known === undefined) tags.set(digest, { names: [name], count: Number(n) })
    else known.names.push(name)
  }
  return tags
}
