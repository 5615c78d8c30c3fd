import { RepoPolicySchema } from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import type { SortFields } from '../../api/order-by.ts'
import { rootOf, subtreeRange } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import { type ComputedColumns, withinScopesText } from '../../storage/list/list-sql.ts'
import { runLongText, type SqlText, sqlText } from '../../storage/sql-text.ts'

/** Counts what repos contain, with one statement for each kind of content. */

export interface RepoTotals {
  readonly tagCount?: bigint
  readonly manifestCount?: bigint
  readonly storedBytes?: bigint
  readonly lastPushMs?: number
}

/** `tags`, `manifests`: the repos whose tags and manifests are counted. */
export async function readRepoTotals(
  db: Db,
  { tags, manifests }: { readonly tags: readonly string[]; readonly manifests: readonly string[] },
): Promise<ReadonlyMap<string, RepoTotals>> {
  const [tagsOf, manifestsOf, blobsOf] = await Promise.all([
    totalsOf(db, tags, { table: 'tags', column: 'parent', n: 'count(*)' }),
    totalsOf(db, manifests, { table: 'manifests', column: 'repo', n: 'count(*)', latest: 'max(created_ms)' }),
    totalsOf(db, manifests, { table: 'repo_blobs', column: 'repo', n: 'sum(size)' }),
  ])
  const totals = new Map<string, RepoTotals>()
  for (const repo of tags) totals.set(repo, { tagCount: BigInt(tagsOf.get(repo)?.n ?? 0) })
  for (const repo of manifests) {
    const { n = 0, latest = null } = manifestsOf.get(repo) ?? {}
    totals.set(repo, {
      ...totals.get(repo),
      manifestCount: BigInt(n),
      storedBytes: BigInt(blobsOf.get(repo)?.n ?? 0),
      ...(latest !== null && { lastPushMs: Number(latest) }),
    })
  }
  return totals
}

interface Counted {
  readonly table: 'tags' | 'manifests' | 'repo_blobs'
  /** The column with the uid of the repo. */
  readonly column: 'parent' | 'repo'
  readonly n: string
  readonly latest?: string
}

interface Total {
  readonly n: number | string
  readonly latest: number | string | null
}

/** Empty repos are left out. */
async function totalsOf(
  db: Db,
  repos: readonly string[],
  { table, column, n, latest = 'null' }: Counted,
): Promise<ReadonlyMap<string, Total>> {
  if (repos.length === 0) return new Map()
  const sql = sqlText(db.engine)
  const hint = table === 'manifests' ? byPushHint(sql) : ''
  const text = `select ${column} as repo, ${n} as n, ${latest} as latest from ${table}${hint}
    where root in (${sql.bindAll([...new Set(repos.map(rootOf))])}) and ${column} in (${sql.bindAll(repos)})
    group by ${column}`
  const rows = await runLongText<Total & { readonly repo: string }>(db, text, sql)
  return new Map(rows.map((row) => [row.repo, row]))
}

/** Without statistics SQLite would read each row of a manifest for the time of its push. */
function byPushHint({ rules }: SqlText): string {
  return rules.needsPlanHints ? ' indexed by manifests_by_push' : ''
}

/**
 * Returns the totals that lists of repos are sorted by. `scopes`: where the caller may know them; elsewhere they are less than all others, so
 * that the order does not reveal them.
 */
export function repoTotalColumns(scopes: readonly string[]): ComputedColumns {
  const ranges = scopes.map((scope) => {
    const { from, to } = subtreeRange(scope)
    return [rootOf(from), from, to]
  })
  // Compares a row that is read anyway: a distributed database finds rows in ranges by a join only where it is the whole condition.
  const isKnown = (sql: SqlText) => {
    if (scopes.length === 1) return withinScopesText(sql, 'repos', scopes)
    const { source, element } = sql.rules.jsonArrays(sql.bind(JSON.stringify(ranges)), 'part')
    return `exists (select 1 from ${source}
      where repos.root = ${element(0)} and repos.uid >= ${element(1)} and repos.uid < ${element(2)})`
  }
  const known = (sql: SqlText, value: string) =>
    `case when ${isKnown(sql)} then coalesce((${value}), 0) else -1 end`
  return {
    stored_bytes: (sql) =>
      known(
        sql,
        'select cast(sum(b.size) as bigint) from repo_blobs as b where b.root = repos.root and b.repo = repos.uid',
      ),
    last_push_ms: (sql) =>
      known(
        sql,
        `select max(m.created_ms) from manifests as m${byPushHint(sql)} where m.root = repos.root and m.repo = repos.uid`,
      ),
  }
}

/** The names of these columns in `order_by`. */
export const repoTotalFields = {
  stored_bytes: 'stored_bytes',
  storedBytes: 'stored_bytes',
  last_push_time: 'last_push_ms',
  lastPushTime: 'last_push_ms',
} as const satisfies SortFields

export interface PolicyFlags {
  readonly immutableTags: boolean
  readonly retentionEnabled: boolean
}

export async function readPolicyFlags(
  { kysely }: Db,
  repos: readonly string[],
): Promise<ReadonlyMap<string, PolicyFlags>> {
  if (repos.length === 0) return new Map()
  const rows = await kysely
    .selectFrom('repo_policies')
    .select(['uid', 'policy'])
    .where('root', 'in', [...new Set(repos.map(rootOf))])
    .where('uid', 'in', repos)
    .execute()
  return new Map(
    rows.map(({ uid, policy }) => {
      const { immutableTags, retention } = fromBinary(RepoPolicySchema, policy)
      const flags = {
        immutableTags: (immutableTags?.patterns.length ?? 0) > 0,
        retentionEnabled: retention?.enabled === true,
      }
      return [uid, flags]
    }),
  )
}
