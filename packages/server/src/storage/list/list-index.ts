import type { Db } from '../db.ts'
import type { SqlText } from '../sql-text.ts'
import type { Branch } from './list-sql.ts'

/**
 * An inverted index beside a table: conditions of lists that no column holds. Its owner implements it and passes it with the conditions
 * (`ListSpec.index`); only the index reads their members.
 */
export interface IndexCondition {
  /** Distinguishes them from conditions on columns. */
  readonly column?: never
}

export interface ListIndex {
  /** SQL of a condition on the current row of the table. */
  matchesSql(sql: SqlText, condition: IndexCondition): string
  /** A SELECT of `root, uid` of the rows of a branch that match; it may repeat rows. Not for exclusions. */
  rowsSql(sql: SqlText, condition: IndexCondition, branch: Branch): string
  /** The number of rows of a branch that match, in parentheses; for exclusions, of those that do not match. */
  countSql(sql: SqlText, condition: IndexCondition, branch: Branch): string
  /** Whether that number is stored. */
  hasStoredCount(condition: IndexCondition, branch: Branch): boolean
  /** Whether rows match that have none of some values. */
  isExclusion(condition: IndexCondition): boolean
  /**
   * The FROM clause and first conditions of SELECTs that together read the matching rows in the order `scanOrder` each; undefined if the
   * index has no such order or there are too many. Build one after the other, since each binds its values.
   */
  scans(
    condition: IndexCondition | undefined,
    branches: readonly Branch[],
  ): ((sql: SqlText) => string)[] | undefined
  readonly scanOrder: string
  /**
   * The condition that the fewest rows match. `rows`: how many entries of the index it reads, up to `max`, and `max + 1` for more unless
   * the number is stored. `total`: how many rows match, if known.
   */
  findRarest(
    db: Db,
    conditions: readonly IndexCondition[],
    branches: readonly Branch[],
    max: number,
  ): Promise<RarestCondition | undefined>
  /** The number of rows of some branches that match, if it was stored by `countAndStore`. */
  readStoredTotal(db: Db, condition: IndexCondition, branches: readonly Branch[]): Promise<number | undefined>
  /** Counts the rows of some branches that match and stores the number; undefined for conditions that this is not done for. */
  countAndStore(db: Db, condition: IndexCondition, branches: readonly Branch[]): Promise<number | undefined>
}

export interface RarestCondition {
  readonly condition: IndexCondition
  readonly rows: number
  readonly total: number | undefined
}
