import { alignRows, availableWidth } from './aligned-rows.ts'
import type { Column, ColumnKind } from './output.ts'
import { maxWidth, sanitizeText, truncate, truncateMiddle, truncateStart, wrapText } from './text-width.ts'
import { formatTime } from './times.ts'

export interface TextStyle {
  readonly bold: (text: string) => string
  /** Columns of the terminal; undefined where there is none. */
  readonly width: number | undefined
}

/**
 * Formats a table without lines. On a narrow terminal the widest columns are cut, except with `whole`. Returns undefined if the table
 * still does not fit.
 */
export function formatTable<T>(
  items: readonly T[],
  columns: readonly Column<T>[],
  {
    bold,
    width,
    whole = false,
    headers = true,
  }: TextStyle & { readonly whole?: boolean; readonly headers?: boolean },
): string | undefined {
  let shown = columns.map((column) => toTableColumn(column, items))
  if (width !== undefined && exceedsWidth(shown, width)) {
    if (whole) return undefined
    shown = shown.filter(({ texts }) => texts.some((text) => text !== ''))
    for (const level of [{ nameMax: NAME_MAX }, { nameMax: NAME_MIN, timeMax: DATE_WIDTH }])
      if (exceedsWidth(shown, width)) narrowColumns(shown, availableWidth(shown.length, width), level)
    if (exceedsWidth(shown, width)) return undefined
  }
  const rows = [
    shown.map(({ title }) => title),
    ...items.flatMap((_, at) => rowLines(shown.map((column) => cellLines(column, at)))),
  ]
  const [head = '', ...lines] = alignRows(rows, width === undefined ? WIDTH_MAX : undefined)
  return [...(headers ? [bold(head)] : []), ...lines].map((line) => `${line}\n`).join('')
}

/** Maximum width of a column without a terminal, so that one long name does not stretch all rows. */
const WIDTH_MAX = 120

interface TableColumn {
  readonly title: string
  readonly kind: ColumnKind | undefined
  readonly texts: readonly string[]
  width: number
}

function toTableColumn<T>({ title, kind, value }: Column<T>, items: readonly T[]): TableColumn {
  const texts = items.map((item) => sanitizeText(kind === 'time' ? formatTime(value(item)) : value(item)))
  return { title, kind, texts, width: Math.max(title.length, maxWidth(texts)) }
}

/** Columns that names and paths keep while other columns can be narrowed, and after that. */
const NAME_MAX = 40
const NAME_MIN = 16
/** `2027-01-31`, without the time of day. */
const DATE_WIDTH = 10
const UID_MIN = 28
const TEXT_MIN = 12

/** How far columns are narrowed: times only if names were not enough. */
interface Level {
  readonly nameMax: number
  readonly timeMax?: number
}

/** Minimum width of a column: names are cut last, and uids stay recognizable. */
function minimumWidth({ kind, width, title }: TableColumn, { nameMax, timeMax = width }: Level): number {
  if (kind === 'time') return Math.min(width, Math.max(title.length, timeMax))
  if (kind === 'name' || kind === 'path') return Math.min(width, Math.max(title.length, nameMax))
  return Math.min(width, Math.max(title.length, kind === 'uid' ? UID_MIN : TEXT_MIN))
}

function exceedsWidth(columns: readonly TableColumn[], width: number): boolean {
  return columns.reduce((sum, column) => sum + column.width, 0) > availableWidth(columns.length, width)
}

/** Narrows the widest column until all fit, or all have their minimum width. */
function narrowColumns(columns: readonly TableColumn[], available: number, level: Level): void {
  const least = new Map(columns.map((column) => [column, minimumWidth(column, level)]))
  for (;;) {
    const over = columns.reduce((sum, { width }) => sum + width, 0) - available
    const able = columns.filter((column) => column.width > (least.get(column) ?? 0))
    const [widest, next] = able.toSorted((one, other) => other.width - one.width)
    if (over <= 0 || widest === undefined) return
    const nextWidth = next === undefined ? 0 : Math.min(next.width, widest.width - 1)
    widest.width = Math.max(least.get(widest) ?? 0, nextWidth, widest.width - over)
  }
}

function cellLines({ kind, texts, width }: TableColumn, at: number): string[] {
  const text = texts[at] ?? ''
  if (kind === 'long') return wrapText(text, width)
  return [cutters[kind ?? 'text'](text, width)]
}

const cutters: Readonly<
  Record<Exclude<ColumnKind, 'long'> | 'text', (text: string, width: number) => string>
> = {
  uid: truncateMiddle,
  path: truncateStart,
  name: truncate,
  text: truncate,
  time: (text, width) => (text.length <= width ? text : text.slice(0, DATE_WIDTH)),
}

/** Returns the lines of a row whose cells may have several lines. */
function rowLines(cells: readonly (readonly string[])[]): string[][] {
  const height = Math.max(...cells.map((lines) => lines.length))
  return Array.from({ length: height }, (_, line) => cells.map((lines) => lines[line] ?? ''))
}
