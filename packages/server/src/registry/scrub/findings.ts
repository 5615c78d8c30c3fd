import { pathOf, rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Db } from '../../storage/db.ts'

/** What a scrub finds wrong, in the words of whoever has to mend it. */

export interface Finding {
  /**
   * `missing`, `damaged`: something that a repo has cannot be pulled as it was pushed. `unreadable`: the store failed; another time it may
   * not. `incomplete`: an index names a manifest that somebody has deleted. `orphan`: stored, and the database does not know it.
   */
  readonly kind: 'missing' | 'damaged' | 'unreadable' | 'incomplete' | 'orphan'
  readonly what: 'blob' | 'manifest' | 'upload'
  /** '' where nobody knows it. */
  readonly digest: string
  /** Where the store has it; '' for what is in the database. */
  readonly location: string
  readonly bytes: number
  /** A sentence. */
  readonly reason: string
  /** That a push of the same bytes mends it from now on. */
  readonly repaired: boolean
  /** The first repos that have it, and how many do. */
  readonly repos: readonly FoundRepo[]
  readonly repoCount: number
}

export interface FoundRepo {
  readonly uid: string
  /** As clients write it, by the name of the organization. */
  readonly name: string
}

export const unowned = { repaired: false, repos: [], repoCount: 0 } as const

/** What makes the command say that something is wrong. */
export function isFailure({ kind }: Pick<Finding, 'kind'>): boolean {
  return kind === 'missing' || kind === 'damaged' || kind === 'unreadable'
}

export async function findReposWithBlob(
  db: Db,
  digest: string,
): Promise<Pick<Finding, 'repos' | 'repoCount'>> {
  const rows = await db.kysely
    .selectFrom('repo_blobs')
    .select('repo')
    .where('digest', '=', digest)
    .orderBy('repo')
    .limit(limits.scrubReposMax)
    .execute()
  const { repoCount } = await db.kysely
    .selectFrom('repo_blobs')
    .select((row) => row.fn.countAll().as('repoCount'))
    .where('digest', '=', digest)
    .executeTakeFirstOrThrow()
  const repos: FoundRepo[] = []
  for (const { repo } of rows) repos.push(await readFoundRepo(db, repo))
  return { repos, repoCount: Number(repoCount) }
}

export async function readFoundRepo({ kysely }: Db, uid: string): Promise<FoundRepo> {
  const root = rootOf(uid)
  const groups = await kysely
    .selectFrom('groups')
    .select(['uid', 'name'])
    .where('root', '=', root)
    .where('uid', 'in', pathOf(uid))
    .execute()
  const repo = await kysely
    .selectFrom('repos')
    .select('name')
    .where('root', '=', root)
    .where('uid', '=', uid)
    .executeTakeFirst()
  const names = groups.sort((a, b) => a.uid.length - b.uid.length).map(({ name }) => name)
  return { uid, name: [...names, repo?.name ?? ''].join('/') }
}
