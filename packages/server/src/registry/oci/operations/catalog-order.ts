import { descendantRange, parentOf, pathOf, rootOf, type Uid } from '../../../api/uid.ts'
import { readGroupNames } from '../../../iam/groups/group-names.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import type { Db } from '../../../storage/db.ts'
import { runText, sqlText } from '../../../storage/sql-text.ts'

/**
 * Repository names in the order of their bytes. Few repos are sorted in memory; a group with many is walked child by child, so that a
 * page costs no more than the page and one such sort.
 */

/** A group with the text that all names below it start with; it ends with a slash. */
interface Place {
  readonly uid: Uid
  readonly path: string
}

interface Child {
  readonly uid: Uid
  readonly name: string
}

const SORTED_MAX = 5000
const ROWS_PER_STATEMENT = 500

/**
 * Yields the names of the repos in some groups, which do not contain each other, after a name. '' is the whole platform. `sortedMax`: repos of
 * one group and its descendants that are sorted in memory.
 */
export async function* repoNames(
  db: Db,
  scopes: readonly string[],
  after: string,
  sortedMax: number = SORTED_MAX,
): AsyncGenerator<string> {
  const places = scopes.includes('') ? organizations(db, after) : await placesOf(db, scopes as Uid[])
  for await (const place of places) yield* namesBelow(db, place, after, sortedMax)
}

async function* organizations(db: Db, after: string): AsyncGenerator<Place> {
  // Names start with the uid of the organization.
  let [last = ''] = after.split('/', 1)
  for (let isFirst = true; ; isFirst = false) {
    const sql = sqlText(db.engine)
    const text = `select min(root) as root from repos where root ${isFirst ? '>=' : '>'} ${sql.bind(last)}`
    const [row] = await runText<{ root: Uid | null }>(db, text, sql)
    if (row?.root == null) return
    last = row.root
    yield { uid: row.root, path: `${row.root}/` }
  }
}

async function placesOf(db: Db, uids: readonly Uid[]): Promise<Place[]> {
  const pathFor = await groupPaths(db, uids)
  const places = uids.map((uid) => ({ uid, path: pathFor(uid) }))
  return places.sort((a, b) => (a.path < b.path ? -1 : 1))
}

async function* namesBelow(
  db: Db,
  { uid, path }: Place,
  after: string,
  sortedMax: number,
): AsyncGenerator<string> {
  if (isBefore(path, after)) return
  await yieldToEventLoop()
  const few = await readRepos(db, uid, sortedMax + 1)
  if (few.length <= sortedMax) {
    const pathFor = await groupPaths(
      db,
      few.map((repo) => parentOf(repo.uid) as Uid),
    )
    const names = few.map((repo) => pathFor(parentOf(repo.uid) as Uid) + repo.name)
    yield* names.filter((name) => name > after).sort()
    return
  }
  const rest = after.startsWith(path) ? after.slice(path.length) : ''
  const repos = repoNamesIn(db, uid, rest)
  const children = inOrderOfPaths(childrenOf(db, uid, rest))
  let [repo, child] = [await repos.next(), await children.next()]
  while (repo.done !== true || child.done !== true) {
    const isRepo = child.done === true || (repo.done !== true && repo.value < `${child.value.name}/`)
    if (isRepo) {
      yield path + repo.value
      repo = await repos.next()
    } else if (child.done !== true) {
      const { uid, name } = child.value
      yield* namesBelow(db, { uid, path: `${path}${name}/` }, after, sortedMax)
      child = await children.next()
    }
  }
}

/** Returns whether all names that start with `path` come before a name or are that name. */
function isBefore(path: string, name: string): boolean {
  return path < name && !name.startsWith(path)
}

/** Reads repos of a group and its descendants. */
function readRepos(db: Db, uid: Uid, max: number): Promise<Child[]> | Child[] {
  const sql = sqlText(db.engine)
  const { from, to } = descendantRange(uid)
  const text = `select uid, name from repos where root = ${sql.bind(rootOf(uid))} and uid >= ${sql.bind(from)} and uid < ${sql.bind(to)} limit ${sql.bind(max)}`
  return runText<Child>(db, text, sql)
}

/** Yields the names of the repos of a group, without its descendants, after a text. */
async function* repoNamesIn(db: Db, uid: Uid, after: string): AsyncGenerator<string, undefined> {
  for (let last = after; ; ) {
    const sql = sqlText(db.engine)
    const text = `select name from repos where root = ${sql.bind(rootOf(uid))} and parent = ${sql.bind(uid)}
      and name > ${sql.bind(last)} order by name limit ${sql.bind(ROWS_PER_STATEMENT)}`
    const rows = await runText<{ name: string }>(db, text, sql)
    for (const { name } of rows) yield name
    if (rows.length < ROWS_PER_STATEMENT) return
    last = rows.at(-1)?.name ?? last
  }
}

/** Yields the children of a group that have repos below them, in the order of names. */
async function* childrenOf(db: Db, uid: Uid, after: string): AsyncGenerator<Child, undefined> {
  // A name is before its own continuations, whose paths may be before its path: a-b/ is before a/.
  const [start = ''] = after.split(/[ ./-]/, 1)
  for (let [last, comparison] = [start, '>=']; ; comparison = '>') {
    const sql = sqlText(db.engine)
    const text = `select g.uid, g.name, exists (select 1 from repos r
        where r.root = g.root and r.uid >= g.uid || '/' and r.uid < g.uid || '0') as used
      from groups g where g.root = ${sql.bind(rootOf(uid))} and g.parent = ${sql.bind(uid)}
        and g.name ${comparison} ${sql.bind(last)} order by g.name limit ${sql.bind(ROWS_PER_STATEMENT)}`
    const rows = await runText<Child & { used: number | boolean }>(db, text, sql)
    for (const row of rows) if (row.used && !isBefore(`${row.name}/`, after)) yield row
    if (rows.length < ROWS_PER_STATEMENT) return
    last = rows.at(-1)?.name ?? last
    await yieldToEventLoop()
  }
}

/** Changes the order of names into that of names with a slash at the end. */
async function* inOrderOfPaths(children: AsyncIterable<Child>): AsyncGenerator<Child, undefined> {
  const held: Child[] = []
  for await (const child of children) {
    for (let top = held.at(-1); top !== undefined && !precedes(child.name, top.name); top = held.at(-1)) {
      held.pop()
      yield top
    }
    held.push(child)
  }
  yield* held.reverse()
}

/** Returns whether a name continues another one with a character before the slash. */
function precedes(name: string, shorter: string): boolean {
  return name.startsWith(shorter) && name.charAt(shorter.length) < '/'
}

/**
 * Reads the names of groups and of the groups above them; the result maps the uid of one to the start of all names below it. The first
 * component is the uid of the organization: its name may not be valid in the OCI grammar.
 */
async function groupPaths(db: Db, uids: readonly Uid[]): Promise<(uid: Uid) => string> {
  const groups = [...new Set(uids)].flatMap((uid) => pathOf(uid)).filter((uid) => uid !== rootOf(uid))
  const names = await readGroupNames(db, groups)
  const paths = new Map<string, string>()
  return (uid) => {
    const known = paths.get(uid)
    if (known !== undefined) return known
    const path = pathOf(uid).map(
      (group) => `${group === rootOf(group) ? group : (names.get(group) ?? group)}/`,
    )
    paths.set(uid, path.join(''))
    return path.join('')
  }
}
