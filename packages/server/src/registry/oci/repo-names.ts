import type { LRUCache } from 'lru-cache'
import { parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { nameShare } from '../../pipeline/request/request-context.ts'
import { createGrowingCache } from '../../runtime/caches/growing-cache.ts'
import { createVersionCache } from '../../storage/cache/version-cache.ts'
import type { Db } from '../../storage/db.ts'
import { findOrganizationByName } from '../../storage/organizations.ts'
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
    folders.length > limits.groupDepthMax ||
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

const KNOWN_ORGANIZATIONS_MAX = 10_000

/** The last known uids of organizations by name. They may be out of date: a statement that uses one checks it. */
const knownOrganizations = new WeakMap<Db, LRUCache<string, Uid>>()

const KNOWN_NAMES_MAX = 10_000

const resolved = createVersionCache<RepoReference>({
  max: KNOWN_NAMES_MAX,
  maxSize: KNOWN_NAMES_MAX,
  sizeOf: () => 1,
})

/** Resolves a name, whatever its depth; without waiting if the database is unchanged since it was last resolved. */
export function resolveRepo(db: Db, name: RepoName): RepoReference | Promise<RepoReference> {
  return resolved(db, name.text, () => readRepo(db, name))
}

/** Runs one statement, unless the organization is new to this node. */
async function readRepo(db: Db, name: RepoName): Promise<RepoReference> {
  const { organization, folders } = name
  const missing = { name, group: undefined, missingFolders: folders, repo: undefined }
  const uid = parseUid(organization)
  if (uid !== undefined) return (await resolveInOrganization(db, name, { uid })) ?? missing
  let known = knownOrganizations.get(db)
  if (known === undefined) {
    known = createGrowingCache(KNOWN_ORGANIZATIONS_MAX)
    knownOrganizations.set(db, known)
  }
  const last = known.get(organization)
  const found = last && (await resolveInOrganization(db, name, { uid: last, withName: organization }))
  if (found !== undefined) return found
  const current = (await findOrganizationByName(db.kysely, organization)) as Uid | undefined
  if (current === undefined) return missing
  known.set(organization, current)
  return (await resolveInOrganization(db, name, { uid: current, withName: organization })) ?? missing
}

/**
 * Returns undefined if there is no organization with the uid, or if it does not have this name. Each step finds the next folder in the one
 * before. All of it names the organization, so that a distributed database asks one server.
 */
async function resolveInOrganization(
  db: Db,
  name: RepoName,
  { uid, withName }: { readonly uid: Uid; readonly withName?: string },
): Promise<RepoReference | undefined> {
  nameShare(uid)
  const sql = sqlText(db.engine)
  const { folders, repo } = name
  const root = () => sql.bind(uid)
  const start =
    withName === undefined
      ? `select g.uid from groups g where g.root = ${root()} and g.uid = ${root()}`
      : `select n.uid from organization_names n where n.name = ${sql.bind(withName)} and n.uid = ${root()}`
  const inRoot = `g.root = ${root()}`
  const nextFolder = sql.rules.jsonTextAt(sql.bind(JSON.stringify(folders)), 'p.depth')
  const text = `with recursive path (depth, uid) as (
      select 0, o.uid from (${start}) as o
      union all select p.depth + 1, g.uid from path p
        join groups g on ${inRoot} and g.parent = p.uid and g.name = ${nextFolder}
    )
    select p.depth, p.uid, r.uid as repo from path p
      left join repos r on p.depth = ${sql.bind(folders.length)} and r.root = ${root()} and r.parent = p.uid and r.name = ${sql.bind(repo)}
      order by p.depth desc limit 1`
  const [row] = await runText<{ depth: number; uid: Uid; repo: Uid | null }>(db, text, sql)
  if (row === undefined) return undefined
  return {
    name,
    group: row.uid,
    missingFolders: folders.slice(Number(row.depth)),
    repo: row.repo ?? undefined,
  }
}
