import { includesAll } from '../core/capabilities.ts'
import { giveTurn } from '../core/turns.ts'
import { parentOf, pathOf, rangeBelow, rootOf, type Uid } from '../core/uid.ts'
import type { HttpReply } from '../http.ts'
import type { Db } from '../storage/db.ts'
import { runText, sqlText } from '../storage/sql-text.ts'
import { isForCatalog, needs, type Visitor } from './access.ts'
import { ociError } from './errors.ts'
import { findPlace, readName } from './names.ts'
import { nextPage, readCount } from './tags.ts'
import type { Registry, Visit } from './visit.ts'

interface RepoNamed {
  readonly uid: Uid
  readonly name: string
}

/**
 * Names of the repos that the caller may list (R35), in the order of their uids. `after`, which the link to the next page has, says
 * what `last` does in a way that outlives the repo.
 */
export async function listCatalog(
  { store }: Registry,
  { query, visitor }: Omit<Visit, 'place'>,
): Promise<HttpReply> {
  const { db } = store
  if (!isForCatalog(visitor.caller))
    throw ociError('UNAUTHORIZED', 'the token is not for the catalog; ask for one that is')
  const n = readCount(query)
  const after = query.get('after') ?? (await uidNamed(store.db, visitor, query.get('last')))
  const scopes = [...visitor.grants.holding(needs.listRepos)].sort()
  const found: RepoNamed[] = []
  for (const scope of scopes) {
    if (found.length > n || n === 0) break
    for (let last = after; found.length <= n; ) {
      await giveTurn()
      const max = Math.min(ROWS_AT_ONCE, n + 1 - found.length)
      const some = await reposIn(db, scope, last, max)
      found.push(...some)
      if (some.length < max) break
      last = some.at(-1)?.uid ?? last
    }
  }
  const page = found.slice(0, n)
  const names = await namesOf(db, page)
  return {
    status: 200,
    headers: {
      'content-type': 'application/json',
      ...nextPage(found.length > n && n > 0, '/v2/_catalog', {
        n,
        last: names.at(-1),
        after: page.at(-1)?.uid,
      }),
    },
    body: JSON.stringify({ repositories: names }),
  }
}

/** Of a repo that the visitor may list: where others begin in the order of uids is nobody's business. */
async function uidNamed(db: Db, { grants }: Visitor, name: string | null): Promise<string> {
  if (name === null || name === '') return ''
  const { repo } = await findPlace(db, readName(name))
  return repo !== undefined && includesAll(grants.at(repo), needs.listRepos) ? repo : ''
}

function reposIn(db: Db, scope: string, after: string, max: number): Promise<RepoNamed[]> | RepoNamed[] {
  const sql = sqlText(db.engine)
  const { from, to } = rangeBelow(scope)
  // Below the platform lies everything, in the same order: a uid begins with its root.
  const within =
    scope === ''
      ? `root >= ${sql.bind(rootOf(after))} and uid > ${sql.bind(after)}`
      : `root = ${sql.bind(rootOf(scope))} and uid > ${sql.bind(after > from ? after : from)} and uid < ${sql.bind(to)}`
  const text = `select uid, name from repos where ${within} order by root, uid limit ${sql.bind(max)}`
  return runText<RepoNamed>(db, text, sql)
}

/** What repos are called, from the uid of the organization down: its name may be none of the protocol's. */
async function namesOf(db: Db, repos: readonly RepoNamed[]): Promise<string[]> {
  const groups = new Map<string, string>()
  const uids = [...new Set(repos.flatMap(({ uid }) => pathOf(parentOf(uid))))]
  for (let at = 0; at < uids.length; at += GROUPS_AT_ONCE) {
    await giveTurn()
    const some = uids.slice(at, at + GROUPS_AT_ONCE)
    const roots = [...new Set(some.map(rootOf))]
    const rows = await db.kysely
      .selectFrom('groups')
      .select(['uid', 'name'])
      .where('root', 'in', roots)
      .where('uid', 'in', some)
      .execute()
    for (const { uid, name } of rows) groups.set(uid, name)
  }
  const nameOf = (uid: string) => (uid === rootOf(uid) ? uid : (groups.get(uid) ?? uid))
  const names: string[] = []
  for (const [at, { uid, name }] of repos.entries()) {
    if (at % ROWS_AT_ONCE === 0) await giveTurn()
    names.push([...pathOf(parentOf(uid)).map(nameOf), name].join('/'))
  }
  return names
}

const GROUPS_AT_ONCE = 200
/** Repos that one statement reads: others have their turn in between. */
const ROWS_AT_ONCE = 1000
