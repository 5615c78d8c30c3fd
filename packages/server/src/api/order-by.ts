import { limits } from '../config/limits.ts'

/** One key of an order: the column to sort by. */
export interface OrderKey {
  readonly column: string
  readonly descending: boolean
}

/** The names that a caller may sort by, each with its column: no other text becomes a column (R27). */
export type SortFields = Readonly<Record<string, string>>

/** The spellings of the two timestamps (the spec says `created_at`, the schema `create_time`). */
export const timeSortFields = {
  created_at: 'created_ms',
  create_time: 'created_ms',
  createTime: 'created_ms',
  updated_at: 'updated_ms',
  update_time: 'updated_ms',
  updateTime: 'updated_ms',
} as const satisfies SortFields

/**
 * Parses `name desc, created_at` (AIP-132). The uid, ascending, is always the last key, so that the order is total and cursors are
 * stable. Returns a problem, as a sentence for the caller, if the text is invalid.
 */
export function parseOrderBy(
  text: string,
  fields: SortFields,
): readonly OrderKey[] | { readonly problem: string } {
  const keys: OrderKey[] = []
  if (text.trim() !== '') {
    const parts = text.split(',', limits.orderByKeysMax + 1)
    if (parts.length > limits.orderByKeysMax)
      return { problem: `must have at most ${limits.orderByKeysMax} keys` }
    for (const part of parts) {
      const [field, direction, ...rest] = part.trim().split(/\s+/, 3)
      const column = field !== undefined && Object.hasOwn(fields, field) ? fields[field] : undefined
      if (column === undefined) {
        return {
          problem: `must be one of ${Object.keys(fields).join(', ')}, optionally followed by asc or desc`,
        }
      }
      if ((direction !== undefined && direction !== 'asc' && direction !== 'desc') || rest.length > 0) {
        return { problem: `must have asc or desc after ${field}` }
      }
      if (keys.some((key) => key.column === column)) return { problem: `must not name ${field} twice` }
      keys.push({ column, descending: direction === 'desc' })
    }
  }
  // Keys after the uid cannot change the order.
  const uidAt = keys.findIndex((key) => key.column === 'uid')
  if (uidAt >= 0) return keys.slice(0, uidAt + 1)
  return [...keys, { column: 'uid', descending: false }]
}
