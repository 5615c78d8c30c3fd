import { rootOf } from '../../api/uid.ts'
import { incrementRows, insertRows } from '../../storage/bulk-rows.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import type { Branch } from '../../storage/list/list-sql.ts'
import type { AdvisoryPartCountRow, AdvisoryRow } from '../../storage/schema/tables.ts'
import { runInTransaction, runLongText, runText, sqlText } from '../../storage/sql-text.ts'
import { matchesConditionSql, postingsSql, type TextCondition } from './inverted-index.ts'
import { coversWholeGroups } from './value-counts.ts'

/**
 * Stores how many advisories of each group contain a searched text, if many do. The first query for a text waits for the
 * count. After that, imports update it in the transactions of the advisories.
 */

/** Stored texts of one organization: an import checks its changes against each. The oldest are evicted first. */
const STORED_TEXTS_MAX = 200

/** Returns how many advisories of some branches contain a text, if it is stored. */
export async function readStoredTextCount(
  db: Db,
  condition: TextCondition,
  branches: readonly Branch[],
): Promise<number | undefined> {
  if (!haveGroupCounts(branches)) return undefined
  const groups = await readGroups(db, condition, branches)
  if (groups.some(({ n }) => n === null)) return undefined
  const alone = await countAdvisoryBranches(db, condition, branches)
  return groups.reduce((sum, { n }) => sum + Number(n), alone)
}

/** Counts how many advisories of some branches contain a text, and stores it. Undefined if counts of groups do not suffice. */
export async function countAndStoreText(
  db: Db,
  condition: TextCondition,
  branches: readonly Branch[],
): Promise<number | undefined> {
  if (!haveGroupCounts(branches)) return undefined
  // Read before the count: concurrent imports change the revisions.
  const groups = await readGroups(db, condition, branches)
  const found = await countByGroup(db, condition, groups, branches)
  await storeCounts(db, condition, groups, found)
  return [...found.values()].reduce((sum, n) => sum + n, 0)
}

/** Whether the counts of groups suffice for the branches. */
function haveGroupCounts(branches: readonly Branch[]): boolean {
  return branches.every((branch) => 'range' in branch && coversWholeGroups(branch))
}

interface Group {
  readonly root: string
  readonly uid: string
  readonly revision: number
  /** How many of its advisories contain the text; null if unknown. */
  readonly n: number | null
}

/** Returns the groups with advisories. */
function readGroups(
  db: Db,
  { part }: TextCondition,
  branches: readonly Branch[],
): Promise<Group[]> | Group[] {
  const sql = sqlText(db.engine)
  const each = branches.map((branch) => {
    const columns = `select g.root, g.uid, g.revision, c.n from advisory_groups as g left join advisory_part_counts as c
      on c.root = g.root and c.parent = g.uid and c.part = ${sql.bind(part)}`
    if ('roots' in branch || branch.range.from === '') return columns
    const { from, to } = branch.range
    return `${columns} where g.root = ${sql.bind(rootOf(from))} and g.uid >= ${sql.bind(from.replace(/\/$/, ''))} and g.uid < ${sql.bind(to)}`
  })
  return runText<Group>(db, each.join(' union all '), sql)
}

/** Returns the branches that are single advisories. */
function advisoryBranches(branches: readonly Branch[]): string[] {
  return branches.flatMap((branch) =>
    'range' in branch && /\/[^/]+$/.test(branch.range.from) ? [branch.range.from] : [],
  )
}

/** Counts the matches among branches that are single advisories. */
async function countAdvisoryBranches(
  db: Db,
  condition: TextCondition,
  branches: readonly Branch[],
): Promise<number> {
  const uids = advisoryBranches(branches)
  if (uids.length === 0) return 0
  const sql = sqlText(db.engine)
  const each = uids.map(
    (uid) =>
      `(select count(*) from advisories where root = ${sql.bind(rootOf(uid))} and uid = ${sql.bind(uid)} and ${matchesConditionSql(sql, condition)})`,
  )
  const [row] = await runText<{ n: number }>(db, `select ${each.join(' + ')} as n`, sql)
  return Number(row?.n)
}

/** Characters of the last segment of a uid, including the slash. */
const SEGMENT_CHARS = 17

async function countByGroup(
  db: Db,
  condition: TextCondition,
  groups: readonly Group[],
  branches: readonly Branch[],
): Promise<ReadonlyMap<string, number>> {
  const sql = sqlText(db.engine)
  const each = branches
    .map((branch) => postingsSql(sql, condition, branch, 'p.root, p.path'))
    .join(' union all ')
  const [only] = groups
  // The usual case takes half the time.
  if (only !== undefined && groups.length === 1 && advisoryBranches(branches).length === 0) {
    const text = `select count(distinct path) as n from (${each}) as posted`
    const [row] = await runLongText<{ n: number }>(db, text, sql)
    return new Map([[only.uid, Number(row?.n)]])
  }
  const text = `select root || substr(path, 1, length(path) - ${SEGMENT_CHARS}) as parent, count(*) as n
    from (select distinct root, path from (${each}) as posted) as found group by 1`
  const rows = await runLongText<{ parent: string; n: number }>(db, text, sql)
  return new Map(rows.map(({ parent, n }) => [parent, Number(n)]))
}

/** Stores the counts of groups that have not changed since they were read. */
async function storeCounts(
  db: Db,
  { part }: TextCondition,
  groups: readonly Group[],
  found: ReadonlyMap<string, number>,
): Promise<void> {
  for (const [root, ofRoot] of Map.groupBy(groups, (group) => group.root)) {
    await inTransaction(db, async (tx) => {
      const locked = await lockUnchangedGroups(db, tx, root, ofRoot)
      const { number: last } = await tx
        .selectFrom('advisory_part_counts')
        .select(({ fn }) => fn.max('number').as('number'))
        .where('root', '=', root)
        .executeTakeFirstOrThrow()
      const number = Number(last ?? 0) + 1
      const rows = locked.map(({ uid }) => ({ root, parent: uid, part, n: found.get(uid) ?? 0, number }))
      await insertRows(db, tx, 'advisory_part_counts', rows, { ifAbsent: true })
      await tx
        .deleteFrom('advisory_part_counts')
        .where('root', '=', root)
        .where('number', '<=', number - STORED_TEXTS_MAX)
        .execute()
    })
  }
}

/** Returns the groups that have not changed, locked until the transaction ends. Skips groups that an import has locked. */
async function lockUnchangedGroups(
  db: Db,
  tx: Tx,
  root: string,
  groups: readonly Group[],
): Promise<readonly Group[]> {
  const sql = sqlText(db.engine)
  const text = `select uid, revision from advisory_groups where root = ${sql.bind(root)} and uid in (${sql.bindAll(groups.map(({ uid }) => uid))})
    order by uid${db.rules.lockForUpdate === '' ? '' : `${db.rules.lockForUpdate} skip locked`}`
  const rows = await runInTransaction<Pick<Group, 'uid' | 'revision'>>(tx, text, sql)
  const revisions = new Map(rows.map(({ uid, revision }) => [uid, Number(revision)]))
  return groups.filter(({ uid, revision }) => revisions.get(uid) === Number(revision))
}

/** Updates the counts of one group, whose imports run one at a time. */
export async function updateTextCounts(
  db: Db,
  tx: Tx,
  before: readonly AdvisoryRow[],
  after: readonly AdvisoryRow[],
): Promise<void> {
  const [one] = [...before, ...after]
  if (one === undefined) return
  const known = await tx
    .selectFrom('advisory_part_counts')
    .selectAll()
    .where('root', '=', one.root)
    .where('parent', '=', one.parent)
    .orderBy('part')
    .execute()
  const changed = known.flatMap((row): AdvisoryPartCountRow[] => {
    const having = (rows: readonly AdvisoryRow[]) =>
      rows.filter(({ search }) => search.includes(row.part)).length
    const n = having(after) - having(before)
    return n === 0 ? [] : [{ ...row, n }]
  })
  const key = ['root', 'parent', 'part']
  await incrementRows(db, tx, 'advisory_part_counts', changed, { key, numbers: ['n'] })
}
