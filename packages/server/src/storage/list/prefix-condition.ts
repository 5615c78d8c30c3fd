import type { ColumnCondition } from './list-sql.ts'

/** Sorts after all other characters. */
const LAST = '\u{10ffff}'

/** Conditions that a column of text starts with a prefix, as a range that indexes serve; none for an empty prefix. */
export function startsWith(column: string, prefix: string): ColumnCondition[] {
  if (prefix === '') return []
  return [
    { column, comparison: '>=', value: prefix },
    { column, comparison: '<', value: prefix + LAST },
  ]
}
