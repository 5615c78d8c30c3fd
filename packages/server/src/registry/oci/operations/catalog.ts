import { includesAll } from '@berth/contract/capabilities.ts'
import { descendantRange, parentOf, pathOf, rootOf, type Uid } from '../../../api/uid.ts'
import { readGroupNames } from '../../../iam/groups/group-names.ts'
import type { Authorization } from '../../../pipeline/authorization.ts'
import type { HttpReply } from '../../../port/http.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import type { Db } from '../../../storage/db.ts'
import { runText, sqlText } from '../../../storage/sql-text.ts'
import { operationCapabilities } from '../access.ts'
import type { OciContext, OciServices } from '../context.ts'
import { parseRepoName, resolveRepo } from '../repo-names.ts'
import { nextPageLink, parsePageSize } from './tags.ts'

interface RepoNamed {
  readonly uid: Uid
  readonly name: string
}

/**
 * Lists the names of the repos that the caller may list (R35), in the order of their uids. `after`, from the link to the next page,
 * works like `last` even if that repo was deleted.
 */
export async function listCatalog(
  { store }: OciServices,
  { query, authorization }: OciContext<Authorization>,
): Promise<HttpReply> {
  const { db } = store
  const n = parsePageSize(query)
  const after = query.get('after') ?? (await findRepoUid(store.db, authorization, query.get('last')))
  const scopes = [...(authorization.visible?.scopes ?? [])].sort()
  const found: RepoNamed[] = []
  for (const scope of scopes) {
    if (found.length > n || n === 0) break
    for (let last = after; found.length <= n; ) {
      await yieldToEventLoop()
      const max = Math.min(ROWS_PER_STATEMENT, n + 1 - found.length)
      const rows = await reposIn(db, scope, last, max)
      found.push(...rows)
      if (rows.length < max) break
      last = rows.at(-1)?.uid ?? last
    }
  }
  const page = found.slice(0, n)
  const names = await repoPaths(db, page)
  return {
    status: 200,
    headers: {
      'content-type': 'application/json',
      ...nextPageLink(found.length > n && n > 0, '/v2/_catalog', {
        n,
        last: names.at(-1),
        after: page.at(-1)?.uid,
      }),
    },
    body: JSON.stringify({ repositories: names }),
  }
}

/** Returns the uid of a repo that the caller may list. The position of other repos must not be disclosed. */
async function findRepoUid(db: Db, { grants }: Authorization, name: string | null): Promise<string> {
  if (name === null || name === '') return ''
  const { repo } = await resolveRepo(db, parseRepoName(name))
  return repo !== undefined && includesAll(grants.at(repo), operationCapabilities.listRepos) ? repo : ''
}

function reposIn(db: Db, scope: string, after: string, max: number): Promise<RepoNamed[]> | RepoNamed[] {
  const sql = sqlText(db.engine)
  const { from, to } = descendantRange(scope)
  // At platform scope this is every repo, in the same order: a uid starts with its root.
  const within =
    scope === ''
      ? `root >= ${sql.bind(rootOf(after))} and uid > ${sql.bind(after)}`
      : `root = ${sql.bind(rootOf(scope))} and uid > ${sql.bind(after > from ? after : from)} and uid < ${sql.bind(to)}`
  const text = `select uid, name from repos where ${within} order by root, uid limit ${sql.bind(max)}`
  return runText<RepoNamed>(db, text, sql)
}

/** Returns repository names that start with the organization's uid: its name may not be valid in the OCI grammar. */
async function repoPaths(db: Db, repos: readonly RepoNamed[]): Promise<string[]> {
  const groups = await readGroupNames(
    db,
    repos.flatMap(({ uid }) => pathOf(parentOf(uid))),
  )
  const nameOf = (uid: string) => (uid === rootOf(uid) ? uid : (groups.get(uid) ?? uid))
  const names: string[] = []
  for (const [at, { uid, name }] of repos.entries()) {
    if (at % ROWS_PER_STATEMENT === 0) await yieldToEventLoop()
    names.push([...pathOf(parentOf(uid)).map(nameOf), name].join('/'))
  }
  return names
}

/** Repos per statement, so that other work can run in between. */
const ROWS_PER_STATEMENT = 1000
