import { parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Db } from '../../storage/db.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'
import { ociError } from './errors.ts'

/**
 * Maps OCI repository names to the resource tree: `<organization>/<folder>/<folder>/<repo>`. The organization is its uid or its
 * name, which is unique in the installation; folders are groups, and the repo belongs to the last of them.
 */

export interface RepoName {
  /** The name as requested, which tokens and responses repeat. */
  readonly text: string
  readonly organization: string
  readonly folders: readonly string[]
  readonly repo: string
}

/** A path component of the OCI grammar: lowercase, no separators at the ends, so no path traversal. */
const componentPattern = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/

/** Throws NAME_INVALID. */
export function parseRepoName(text: string): RepoName {
  const [organization = '', ...rest] = text.split('/')
  const folders = rest.slice(0, -1)
  if (
    text.length > limits.repoPathCharsMax ||
    rest.length === 0 ||
    folders.length >= limits.groupDepthMax ||
    ![organization, ...rest].every((component) => componentPattern.test(component))
  )
    throw ociError(
      'NAME_INVALID',
      `the repository name must be <organization>/<repo>, optionally with folders in between: lowercase letters and digits, separated by single . _ -, at most ${limits.repoPathCharsMax} characters in total`,
    )
  return { text, organization, folders, repo: rest.at(-1) ?? '' }
}

/** The resources that a repository name resolves to. */
export interface RepoReference {
  readonly name: RepoName
  /** The deepest existing group of the path; undefined if the organization does not exist. */
  readonly group: Uid | undefined
  /** Folders below that group that do not exist. */
  readonly missingFolders: readonly string[]
  readonly repo: Uid | undefined
}

/** Returns the scope for authorization; '' if only the platform is above the name. */
export function scopeOf({ repo, group }: RepoReference): string {
  return repo ?? group ?? ''
}

/** Resolves a name with one statement, whatever its depth. */
export async function resolveRepo(db: Db, name: RepoName): Promise<RepoReference> {
  const sql = sqlText(db.engine)
  const { organization, folders, repo } = name
  const joins = folders.map(
    (folder, at) =>
      `left join groups g${at + 1} on g${at + 1}.root = g0.uid and g${at + 1}.parent = g${at}.uid and g${at + 1}.name = ${sql.bind(folder)}`,
  )
  const groups = ['g0', ...folders.map((_, at) => `g${at + 1}`)]
  joins.push(
    `left join repos r on r.root = g0.uid and r.parent = g${folders.length}.uid and r.name = ${sql.bind(repo)}`,
  )
  const uid = parseUid(organization)
  const from =
    uid === undefined
      ? 'organization_names n join groups g0 on g0.root = n.uid and g0.uid = n.uid'
      : 'groups g0'
  const where =
    uid === undefined
      ? `n.name = ${sql.bind(organization)}`
      : `g0.root = ${sql.bind(uid)} and g0.uid = ${sql.bind(uid)}`
  const columns = groups.map((group) => `${group}.uid as ${group}`).join(', ')
  const text = `select ${columns}, r.uid as repo from ${from} ${joins.join(' ')} where ${where}`
  const [row] = await runText<Record<string, Uid | null>>(db, text, sql)
  if (row === undefined) return { name, group: undefined, missingFolders: folders, repo: undefined }
  const found = groups.map((group) => row[group] ?? undefined).filter((uid) => uid !== undefined)
  return {
    name,
    group: found.at(-1),
    missingFolders: folders.slice(found.length - 1),
    repo: row['repo'] ?? undefined,
  }
}
