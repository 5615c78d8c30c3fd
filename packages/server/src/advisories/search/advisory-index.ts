import type { ListIndex } from '../../storage/list/list-index.ts'
import {
  findRarestCondition,
  hasStoredCount,
  type IndexCondition,
  isExclusion,
  matchesConditionSql,
  postingCountSql,
  postingScans,
  postingsSql,
} from './inverted-index.ts'
import { countAndStoreText, readStoredTextCount } from './text-counts.ts'

/** The inverted index of advisories, as lists use it. */
export const advisoryIndex: ListIndex = {
  matchesSql: (sql, condition: IndexCondition) => matchesConditionSql(sql, condition),
  rowsSql: (sql, condition: IndexCondition, branch) => postingsSql(sql, condition, branch),
  countSql: (sql, condition: IndexCondition, branch) => postingCountSql(sql, condition, branch),
  hasStoredCount: (condition: IndexCondition, branch) => hasStoredCount(condition, branch),
  isExclusion,
  scans: (condition: IndexCondition | undefined, branches) => postingScans(condition, branches),
  scanOrder: 'p.path',
  findRarest: (db, conditions: readonly IndexCondition[], branches, max) =>
    findRarestCondition(db, conditions, branches, max),
  readStoredTotal: async (db, condition: IndexCondition, branches) =>
    'part' in condition ? readStoredTextCount(db, condition, branches) : undefined,
  countAndStore: async (db, condition: IndexCondition, branches) =>
    'part' in condition ? countAndStoreText(db, condition, branches) : undefined,
}
