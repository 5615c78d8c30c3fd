import { failedPrecondition } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import { withinScopesText } from '../../storage/list/list-sql.ts'
import { andIn, distributionOf } from '../../storage/list/named-roots.ts'
import type { ManifestContentsRow, RepoRow } from '../../storage/schema/tables.ts'
import { runLongText, sqlText } from '../../storage/sql-text.ts'

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

/** Returns the contents of images that are read, the latest pushed first. Those of an index are its images. */
export async function findImages(
  db: Db,
  scopes: readonly string[],
  { repo, digest, tag }: ImageFilter,
  size: number,
): Promise<readonly ManifestContentsRow[]> {
  const around = repo === '' ? scopes : scopesAround(scopes, repo)
  if (around.length === 0) return []
  const distribution = await distributionOf(db, repo === '' ? scopes : [repo])
  const roots = distribution?.roots
  const sql = sqlText(db.engine)
  const visible = `select root, uid from repos where ${withinScopesText(sql, 'repos', around, distribution)}`
  const conditions = [`c.source <> ''${andIn(sql, 'c.root', roots)}`, `(c.root, c.repo) in (${visible})`]
  if (repo !== '') conditions.push(`c.root = ${sql.bind(rootOf(repo))} and c.repo = ${sql.bind(repo)}`)
  const isNamed = (name: (column: string) => string) =>
    `(${name('c.digest')} or exists (select 1 from manifest_references as r where r.root = c.root and r.repo = c.repo
      and r.digest = c.digest and r.kind = 'manifest'${andIn(sql, 'r.root', roots)} and ${name('r.manifest')}))`
  if (digest !== '') conditions.push(isNamed((column) => `${column} = ${sql.bind(digest)}`))
  if (tag !== '')
    conditions.push(
      isNamed(
        (
          column,
        ) => `exists (select 1 from tags as t where t.root = c.root${andIn(sql, 't.root', roots)} and t.parent = c.repo
          and t.name = ${sql.bind(tag)} and t.digest = ${column})`,
      ),
    )
  const text = `select c.* from manifest_contents as c
    join manifests as m on m.root = c.root and m.repo = c.repo and m.digest = c.digest
    where ${conditions.join(' and ')}${andIn(sql, 'm.root', roots)} order by m.created_ms desc, c.id limit ${sql.bind(size)}`
  return runLongText<ManifestContentsRow>(db, text, sql)
}

/** The scopes in the organization of a uid: a distributed database is asked for one organization. */
const scopesAround = (scopes: readonly string[], uid: string) =>
  scopes.filter((scope) => scope === '' || rootOf(scope) === rootOf(uid))

/** Returns the repos with a uid or name. */
export async function findRepos(
  db: Db,
  scopes: readonly string[],
  repo: string,
  size: number,
): Promise<readonly Pick<RepoRow, 'uid'>[]> {
  const around = repo.includes('/') ? scopesAround(scopes, repo) : scopes
  if (around.length === 0) return []
  const distribution = await distributionOf(db, repo.includes('/') ? [repo] : scopes)
  const sql = sqlText(db.engine)
  const isNamed = repo.includes('/')
    ? `root = ${sql.bind(rootOf(repo))} and uid = ${sql.bind(repo)}`
    : `name = ${sql.bind(repo)}`
  const text = `select uid from repos where ${isNamed} and ${withinScopesText(sql, 'repos', around, distribution)}
    order by uid limit ${sql.bind(size)}`
  return runLongText(db, text, sql)
}
