import Table from 'cli-table3'
import { stringify } from 'yaml'

/** How answers are shown: for people as tables and trees, for programs as JSON, YAML, CSV or bare uids. */

export const formats = ['table', 'wide', 'tree', 'json', 'yaml', 'csv', 'id', 'none'] as const
export type Format = (typeof formats)[number]

export interface Column<T> {
  readonly title: string
  readonly value: (item: T) => string
  /** Only in `wide` tables and in CSV. */
  readonly wide?: boolean
}

export interface View<T> {
  readonly columns: readonly Column<T>[]
  /** What `-o id` prints; default: the uid. */
  readonly id?: (item: T) => string
  /** For trees: its own name, and what it hangs below. */
  readonly tree?: { readonly label: (item: T) => string; readonly uid: (item: T) => string }
  /** What a table without rows says instead. */
  readonly empty?: string
}

export interface Output {
  readonly format: Format
  /** A list, as it comes: tables wait for its end, the others do not have to. */
  list<T extends object>(items: AsyncIterable<T> | Iterable<T>, view: View<T>): Promise<void>
  /** One item that was read, made or changed. */
  item<T extends object>(item: T, view: View<T>): void
  /** What was done, where there is nothing to show: on standard error, so that pipes stay clean. */
  done(sentence: string): void
}

export interface OutputOptions {
  readonly format: Format
  readonly color: boolean
  /** Columns of the terminal; undefined where there is none. */
  readonly width: number | undefined
  readonly write: (text: string) => void
  readonly tell: (text: string) => void
  /** Shows how far a long list is, '' when it is done; undefined where nobody looks. */
  readonly progress: ((text: string) => void) | undefined
}

/** Items of a list between two words about its progress: a page. */
const SHOWN_EVERY = 200

export function createOutput({ format, color, width, write, tell, progress }: OutputOptions): Output {
  const bold = (text: string) => (color ? `\u001b[1m${text}\u001b[22m` : text)
  const idOf = <T extends object>(item: T, { id }: View<T>) =>
    id === undefined ? String((item as { readonly uid?: unknown }).uid ?? '') : id(item)

  const show = <T extends object>(items: readonly T[], view: View<T>): void => {
    if (format === 'tree' && view.tree !== undefined) write(treeOf(items, view.tree))
    else if (items.length === 0 && view.empty !== undefined) tell(`${view.empty}\n`)
    else write(tableOf(items, view, { wide: format === 'wide', bold, width }))
  }
  return {
    format,
    async list(items, view) {
      if (format === 'none') return void (await drain(items))
      if (format === 'id') {
        for await (const item of items) write(`${idOf(item, view)}\n`)
        return
      }
      if (format === 'csv') {
        write(csvLine(view.columns.map(({ title }) => title)))
        for await (const item of items) write(csvLine(view.columns.map(({ value }) => value(item))))
        return
      }
      const all: object[] = []
      for await (const item of items) {
        all.push(item)
        if (all.length % SHOWN_EVERY === 0) progress?.(`${all.length} so far …`)
      }
      progress?.('')
      if (format === 'json') write(`${JSON.stringify({ items: all }, undefined, 2)}\n`)
      else if (format === 'yaml') write(stringify({ items: all }))
      else show(all as never[], view as never)
    },
    item(item, view) {
      if (format === 'none') return
      if (format === 'json') write(`${JSON.stringify(item, undefined, 2)}\n`)
      else if (format === 'yaml') write(stringify(item))
      else if (format === 'id') write(`${idOf(item, view)}\n`)
      else if (format === 'csv')
        write(
          csvLine(view.columns.map(({ title }) => title)) +
            csvLine(view.columns.map(({ value }) => value(item))),
        )
      else show([item], view)
    },
    done: (sentence) => tell(`${sentence}\n`),
  }
}

async function drain(items: AsyncIterable<unknown> | Iterable<unknown>): Promise<void> {
  for await (const _ of items);
}

interface Look {
  readonly wide: boolean
  readonly bold: (text: string) => string
  readonly width: number | undefined
}

const noLines = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
  ].map((part) => [part, '']),
)
const GAP = 2

/** A table without lines, whose widest columns give way to a narrow terminal. */
function tableOf<T>(items: readonly T[], { columns: all }: View<T>, { wide, bold, width }: Look): string {
  const columns = all.filter((column) => wide || column.wide !== true)
  const rows = items.map((item) => columns.map(({ value }) => printable(value(item))))
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)),
  )
  if (width !== undefined && !wide) narrow(widths, width - GAP * (columns.length - 1))
  const table = new Table({
    chars: noLines,
    style: { 'padding-left': 0, 'padding-right': GAP, head: [], border: [] },
    colWidths: widths.map((cells) => cells + GAP),
  })
  table.push(
    columns.map(({ title }) => bold(title)),
    ...rows,
  )
  return `${table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`
}

const NARROWEST = 12

/** Takes from the widest column until all fit. */
function narrow(widths: number[], room: number): void {
  for (;;) {
    const over = widths.reduce((sum, cells) => sum + cells, 0) - room
    const widest = Math.max(...widths)
    if (over <= 0 || widest <= NARROWEST) return
    const next = Math.max(NARROWEST, ...widths.filter((cells) => cells < widest))
    widths[widths.indexOf(widest)] = Math.max(next === widest ? widest - 1 : next, widest - over, NARROWEST)
  }
}

/** What others named must not move the cursor or colour the terminal. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
}

/** RFC 4180, with the line ends of the machine. */
function csvLine(values: readonly string[]): string {
  const quoted = values.map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
  return `${quoted.join(',')}\n`
}

/** What lies below what, by their uids. Whoever's parent is not among them stands at the margin. */
function treeOf<T>(
  items: readonly T[],
  { label, uid }: { readonly label: (item: T) => string; readonly uid: (item: T) => string },
): string {
  const known = new Set(items.map(uid))
  const parentOf = (of: string) => {
    for (let at = of.lastIndexOf('/'); at > 0; at = of.lastIndexOf('/', at - 1))
      if (known.has(of.slice(0, at))) return of.slice(0, at)
    return ''
  }
  const below = Map.groupBy(items, (item) => parentOf(uid(item)))
  const lines: string[] = []
  const draw = (of: string, prefix: string) => {
    const here = (below.get(of) ?? []).toSorted((one, other) => (label(one) < label(other) ? -1 : 1))
    for (const [at, item] of here.entries()) {
      const last = at === here.length - 1
      lines.push(`${of === '' ? '' : `${prefix}${last ? '└ ' : '├ '}`}${printable(label(item))}`)
      draw(uid(item), of === '' ? '' : `${prefix}${last ? '  ' : '│ '}`)
    }
  }
  draw('', '')
  return lines.map((line) => `${line}\n`).join('')
}
