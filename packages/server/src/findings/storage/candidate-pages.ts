import { descendantRange, rootOf, type Uid } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import { runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { type CandidateRow, candidateColumns } from '../matching/candidate.ts'

/** Reads the advisories of a group and its descendants about packages, page by page. */

/** Names in one statement. */
const BATCH = 200
/** Rows of one page. */
const PAGE = 500

/** Returns the number of advisories by name; names without any are left out. */
export async function countCandidates(
  db: Db,
  group: Uid,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (let at = 0; at < names.length; at += BATCH) {
    const sql = sqlText(db.engine)
    const text = `select p.name, count(*) as number from advisory_packages as p
      where p.root = ${sql.bind(rootOf(group))} and p.name in (${sql.bindAll(names.slice(at, at + BATCH))})
      ${groupCondition(sql, group)} group by p.name`
    const rows = await runText<{ readonly name: string; readonly number: number }>(db, text, sql)
    for (const { name, number } of rows) counts.set(name, Number(number))
  }
  return counts
}

export type NamedCandidateRow = CandidateRow & { readonly name: string }

/** `counts`: of `countCandidates`, for the names to read. */
export async function* readCandidatePages(
  db: Db,
  group: Uid,
  counts: ReadonlyMap<string, number>,
): AsyncGenerator<readonly NamedCandidateRow[]> {
  let bundle: string[] = []
  let rows = 0
  for (const [name, number] of counts) {
    if (number > PAGE) {
      yield* readName(db, group, name)
      continue
    }
    if (rows + number > PAGE || bundle.length === BATCH) {
      yield await readRows(db, group, bundle)
      bundle = []
      rows = 0
    }
    bundle.push(name)
    rows += number
  }
  if (bundle.length > 0) yield await readRows(db, group, bundle)
}

async function* readName(db: Db, group: Uid, name: string): AsyncGenerator<readonly NamedCandidateRow[]> {
  for (let after = ''; ; ) {
    const page = await readRows(db, group, [name], after)
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = last.uid
  }
}

const columns = candidateColumns.map((column) => `a.${column}`).join(', ')

/** `after`: the uid after which a page of one name starts. */
async function readRows(
  db: Db,
  group: Uid,
  names: readonly string[],
  after?: string,
): Promise<readonly NamedCandidateRow[]> {
  const sql = sqlText(db.engine)
  const [first = ''] = names
  const named = names.length === 1 ? `p.name = ${sql.bind(first)}` : `p.name in (${sql.bindAll(names)})`
  const page =
    after === undefined ? ['', ''] : [`and p.uid > ${sql.bind(after)}`, `order by p.uid limit ${PAGE}`]
  // Few names have advisories: SQLite must start with them.
  const text = `select p.name, ${columns} from advisory_packages as p cross join advisories as a
    where ${named} ${page[0]} and p.root = ${sql.bind(rootOf(group))} ${groupCondition(sql, group)}
    and a.root = p.root and a.uid = p.uid ${page[1]}`
  return runText<NamedCandidateRow>(db, text, sql)
}

function groupCondition(sql: SqlText, group: Uid): string {
  if (group === rootOf(group)) return ''
  const { from, to } = descendantRange(group)
  return `and p.uid >= ${sql.bind(from)} and p.uid < ${sql.bind(to)}`
}
