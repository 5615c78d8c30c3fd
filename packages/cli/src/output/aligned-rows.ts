import { maxWidth, padText } from './text-width.ts'

const GAP = 2

/**
 * Aligns the cells of rows in columns, two spaces apart. A cell wider than `widthMax` shifts only the rest of its own row.
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

/** Returns the width that remains for text after the gaps between columns. */
export function availableWidth(columns: number, width: number): number {
  return width - GAP * (columns - 1)
}
