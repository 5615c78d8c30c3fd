import { pathOf, rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Db } from '../../storage/db.ts'

/** The findings of a scrub, described for operators. */

export interface Finding {
  /**
   * `missing`, `damaged`: content of a repo cannot be pulled as it was pushed. `unreadable`: the store failed, perhaps temporarily.
   * `incomplete`: an index references a deleted manifest. `orphan`: stored bytes that are untracked (not in the database).
   */
  readonly kind: 'missing' | 'damaged' | 'unreadable' | 'incomplete' | 'orphan'
  readonly what: 'blob' | 'manifest' | 'upload'
  /** '' if unknown. */
  readonly digest: string
  /** Location in the store; '' for content of the database. */
  readonly location: string
  readonly bytes: number
  /** A sentence. */
  readonly reason: string
  /** Whether a push of the same bytes repairs it from now on. */
  readonly repaired: boolean
  /** The first repos that have it, and their number. */
  readonly repos: readonly FoundRepo[]
  readonly repoCount: number
}

export interface FoundRepo {
  readonly uid: string
  /** The name that clients use, with the organization's name. */
  readonly name: string
}

export const unowned = { repaired: false, repos: [], repoCount: 0 } as const

/** Whether the command exits with an error. */
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
