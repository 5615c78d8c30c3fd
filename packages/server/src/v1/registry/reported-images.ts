import { failedPrecondition } from '../../api/errors.ts'
import { rootOf, subtreeRange } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import type { ManifestContentsRow, RepoRow } from '../../storage/schema/tables.ts'
import { runLongText, type SqlText, sqlText } from '../../storage/sql-text.ts'

/** Finds the images and repos of filters of version 1, among those in groups where the caller can read reports. */

/** The part of a filter that names images. */
export interface ImageFilter {
  /** uid of a repo; '' for all. */
  readonly repo: string
  readonly digest: string
  readonly tag: string
}

/** Throws FAILED_PRECONDITION, type LIST_TOO_LONG. */
export function tooLong(what: string): never {
  throw failedPrecondition(
    'LIST_TOO_LONG',
    `more than ${what} match, too many for one response; narrow the filter`,
  )
}

/** A condition on a column with uids of repos: in one of the scopes. */
function isVisible(sql: SqlText, column: string, scopes: readonly string[]): string {
  if (scopes.includes('')) return '1 = 1'
  if (scopes.length === 0) return '1 = 0'
  return `(${scopes
    .map((scope) => {
      const { from, to } = subtreeRange(scope)
      const root = `${column.split('.')[0]}.root = ${sql.bind(rootOf(scope))}`
      return `(${root} and ${column} >= ${sql.bind(from)} and ${column} < ${sql.bind(to)})`
    })
    .join(' or ')})`
}

/** Returns the contents of images that are read, the latest pushed first. Those of an index are its images. */
export async function findImages(
  db: Db,
  scopes: readonly string[],
  { repo, digest, tag }: ImageFilter,
  size: number,
): Promise<readonly ManifestContentsRow[]> {
  const sql = sqlText(db.engine)
  const conditions = [`c.source <> ''`, isVisible(sql, 'c.repo', scopes)]
  if (repo !== '') conditions.push(`c.root = ${sql.bind(rootOf(repo))} and c.repo = ${sql.bind(repo)}`)
  const isNamed = (name: (column: string) => string) =>
    `(${name('c.digest')} or exists (select 1 from manifest_references as r where r.root = c.root and r.repo = c.repo
      and r.digest = c.digest and r.kind = 'manifest' and ${name('r.manifest')}))`
  if (digest !== '') conditions.push(isNamed((column) => `${column} = ${sql.bind(digest)}`))
  if (tag !== '')
    conditions.push(
      isNamed(
        (column) => `exists (select 1 from tags as t where t.root = c.root and t.parent = c.repo
          and t.name = ${sql.bind(tag)} and t.digest = ${column})`,
      ),
    )
  const text = `select c.* from manifest_contents as c
    join manifests as m on m.root = c.root and m.repo = c.repo and m.digest = c.digest
    where ${conditions.join(' and ')} order by m.created_ms desc, c.id limit ${sql.bind(size)}`
  return runLongText<ManifestContentsRow>(db, text, sql)
}

/** Returns the repos with a uid or name. */
export async function findRepos(
  db: Db,
  scopes: readonly string[],
  repo: string,
  size: number,
): Promise<readonly Pick<RepoRow, 'uid'>[]> {
  const sql = sqlText(db.engine)
  const isNamed = repo.includes('/')
    ? `p.root = ${sql.bind(rootOf(repo))} and p.uid = ${sql.bind(repo)}`
    : `p.name = ${sql.bind(repo)}`
  const text = `select p.uid from repos as p where ${isNamed} and ${isVisible(sql, 'p.uid', scopes)}
    order by p.uid limit ${sql.bind(size)}`
  return runLongText(db, text, sql)
}
