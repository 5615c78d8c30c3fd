import { rootOf, subtreeRange } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'

/** A scope with at most this number of images is read image by image: most images of a common package may be outside of it. */
export const SMALL_SCOPE_MAX = 2000

/** Counts the images in a group or repo up to one more than `max`. */
export async function countImagesUpTo(db: Db, scope: string, max: number): Promise<number> {
  const { from, to } = subtreeRange(scope)
  const sql = sqlText(db.engine)
  const text = `select count(*) as n from (select 1 from manifest_contents where root = ${sql.bind(rootOf(scope))}
    and repo >= ${sql.bind(from)} and repo < ${sql.bind(to)} limit ${max + 1}) as counted`
  const [row] = await runText<{ readonly n: number }>(db, text, sql)
  return Number(row?.n ?? 0)
}

/** Whether a group or repo has few images. */
export async function isSmallScope(db: Db, scope: string): Promise<boolean> {
  return (await countImagesUpTo(db, scope, SMALL_SCOPE_MAX)) <= SMALL_SCOPE_MAX
}
