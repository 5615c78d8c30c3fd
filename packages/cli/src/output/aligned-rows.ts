import { maxWidth, padText } from './text-width.ts'

const GAP = 2

/**
 * Rows of text with their columns one below the other, two spaces apart, a line each. `widthMax`: a cell that is wider pushes the
 * others of its row aside, and those of no other.
 */
export function alignRows(
  rows: readonly (readonly string[])[],
  widthMax = Number.POSITIVE_INFINITY,
): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.min(widthMax, maxWidth(rows.map((row) => row[column] ?? ''))),
  )
  return rows.map((row) =>
    row
      .map((cell, column) => padText(cell, widths[column] ?? 0))
      .join(' '.repeat(GAP))
      .trimEnd(),
  )
}

/** What is left for the text of that many columns. */
export function availableWidth(columns: number, width: number): number {
  return width - GAP * (columns - 1)
}
