import { descendantRange, rootOf } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import { preparedRead } from '../../storage/prepared.ts'
import { runLongText, sqlText } from '../../storage/sql-text.ts'
import type { Period } from './days.ts'

/** Reads the days that were recorded. */

interface DaysOf extends Period {
  readonly uid: string
  readonly max: number
}

export const organizationDays = preparedRead((db, { uid, first, last, max }: DaysOf) =>
  db
    .selectFrom('usage_days')
    .selectAll()
    .where('root', '=', uid)
    .where('day', '>=', first)
    .where('day', '<=', last)
    .orderBy('day')
    .limit(max),
)

export const repoDays = preparedRead(
  (db, { root, uid, first, last, max }: DaysOf & { readonly root: string }) =>
    db
      .selectFrom('repo_usage_days')
      .select(['day', 'pulls', 'pushes'])
      .where('root', '=', root)
      .where('repo', '=', uid)
      .where('day', '>=', first)
      .where('day', '<=', last)
      .orderBy('day')
      .limit(max),
)

export interface RepoTransfers {
  readonly uid: string
  readonly name: string
  readonly pulls: number
  readonly pushes: number
}

/** Returns the repos of a group with the most pulls or pushes in a period, without those that have none. */
export async function topRepos(
  db: Db,
  group: string,
  { first, last }: Period,
  { by, max }: { readonly by: 'pulls' | 'pushes'; readonly max: number },
): Promise<RepoTransfers[]> {
  const sql = sqlText(db.engine)
  const { from, to } = descendantRange(group)
  const text = `select d.repo as uid, r.name, sum(d.pulls) as pulls, sum(d.pushes) as pushes
    from repo_usage_days as d join repos as r on r.root = d.root and r.uid = d.repo
    where d.root = ${sql.bind(rootOf(group))} and d.repo >= ${sql.bind(from)} and d.repo < ${sql.bind(to)}
      and d.day >= ${sql.bind(first)} and d.day <= ${sql.bind(last)}
    group by d.repo, r.name having sum(d.${by}) > 0
    order by sum(d.${by}) desc, d.repo limit ${sql.bind(max)}`
  const rows = await runLongText<RepoTransfers>(db, text, sql)
  return rows.map((row) => ({ ...row, pulls: Number(row.pulls), pushes: Number(row.pushes) }))
}
