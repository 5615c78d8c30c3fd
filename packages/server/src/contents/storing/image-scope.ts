import { rootOf, subtreeRange } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import { runText, type SqlText, sqlText } from '../../storage/sql-text.ts'

/** A scope with at most this number of images is read image by image: most images of a common package may be outside of it. */
export const SMALL_SCOPE_MAX = 2000

/** A condition on the contents `c` of images: they are in a group or repo. */
export function imagesInScope(sql: SqlText, scope: string): string {
  const { from, to } = subtreeRange(scope)
  return `c.root = ${sql.bind(rootOf(scope))} and c.repo >= ${sql.bind(from)} and c.repo < ${sql.bind(to)}`
}

/** Counts the images in a group or repo up to one more than `max`. */
export async function countImagesUpTo(db: Db, scope: string, max: number): Promise<number> {
  const sql = sqlText(db.engine)
  const text = `select count(*) as n from (select 1 from manifest_contents as c where ${imagesInScope(sql, scope)} limit ${max + 1}) as counted`
  const [row] = await runText<{ readonly n: number }>(db, text, sql)
  return Number(row?.n ?? 0)
}

/** Whether a group or repo has few images. */
export async function isSmallScope(db: Db, scope: string): Promise<boolean> {
  return (await countImagesUpTo(db, scope, SMALL_SCOPE_MAX)) <= SMALL_SCOPE_MAX
}
