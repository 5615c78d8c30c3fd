import type { Column } from './output.ts'
import type { TextStyle } from './table.ts'
import { maxWidth, padText, sanitizeText, wrapText } from './text-width.ts'
import { formatTimeWithDistance } from './times.ts'

const GAP = 2
const TEXT_WIDTH_MIN = 24

/** Formats one item, a line for each field. Empty fields are omitted; nothing is cut. */
export function formatDetails<T>(item: T, columns: readonly Column<T>[], { bold, width }: TextStyle): string {
  const rows = columns
    .map(({ title, kind, value }) => {
      const text = sanitizeText(value(item))
      return [title, kind === 'time' && text !== '' ? formatTimeWithDistance(text) : text] as const
    })
    .filter(([, text]) => text !== '')
  const indent = maxWidth(rows.map(([title]) => title)) + GAP
  const textWidth = width === undefined ? Number.POSITIVE_INFINITY : Math.max(TEXT_WIDTH_MIN, width - indent)
  return rows
    .flatMap(([title, text]) =>
      wrapText(text, textWidth).map((line, at) => {
        const label = padText(at === 0 ? title : '', indent)
        return `${at === 0 ? bold(label) : label}${line}\n`
      }),
    )
    .join('')
}

/** Formats a list that is too wide for a table. */
export function formatDetailsList<T>(
  items: readonly T[],
  columns: readonly Column<T>[],
  style: TextStyle,
): string {
  return items.map((item) => formatDetails(item, columns, style)).join('\n')
}
