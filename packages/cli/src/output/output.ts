import type { Format } from '../config/settings.ts'
import { formatDetails, formatDetailsList } from './details.ts'
import { batchItems } from './item-batches.ts'
import { formatTable, type TextStyle } from './table.ts'
import { sanitizeLines } from './text-width.ts'
import { formatTree } from './tree.ts'
import { loadYaml } from './yaml.ts'

/** Renders results: tables, trees and details for people; JSON, YAML, CSV or uids for programs. */

export interface Column<T> {
  readonly title: string
  readonly value: (item: T) => string
  /** Shown only in `wide` tables, in CSV, and for a single item. */
  readonly wide?: boolean
  /**
   * On a narrow terminal a uid is cut in its middle, a path at its start, a name is cut last, and a long text wraps; an ISO time is shown
   * in a readable form. Default: a text that is cut at its end.
   */
  readonly kind?: ColumnKind
  /** What `--sort` compares; default: the value. */
  readonly sortValue?: (item: T) => string | number
}

export type ColumnKind = 'uid' | 'name' | 'path' | 'long' | 'time'

export interface View<T> {
  readonly columns: readonly Column<T>[]
  /** What `-o id` prints; default: the uid. */
  readonly id?: (item: T) => string
  /** For trees: the label, and the uid that determines the parent. */
  readonly tree?: { readonly label: (item: T) => string; readonly uid: (item: T) => string }
  /** Printed in place of a table without rows. */
  readonly empty?: string
  /** Loads what the columns and the tree show in addition to the items, such as names of groups. */
  readonly load?: (items: readonly T[]) => Promise<void>
}

export interface Output {
  readonly format: Format
  /** Prints a list. Tables, JSON and YAML wait for its end; other formats print each item as it arrives. */
  list<T extends object>(items: AsyncIterable<T> | Iterable<T>, view: View<T>): Promise<void>
  /** Prints one item. */
  item<T extends object>(item: T, view: View<T>): Promise<void>
  /** Prints `value` as JSON in one line or as YAML, or else a list that `value` contains. */
  report<T extends object>(value: object, items: Iterable<T>, view: View<T>): Promise<void>
  /** Prints `value` as JSON in one line or as YAML, or else a text. */
  result(value: object, text: string): void
  /** Whether the format is one for people: table, wide or tree. */
  readonly isForPeople: boolean
  /** Prints a line between several tables. */
  line(line: string): void
  /** Reports what was done, on standard error. */
  notice(sentence: string): void
  /**
   * Shows the progress of a long operation on standard error, '' when it is done: one line that is rewritten on a terminal, elsewhere a
   * line every ten seconds.
   */
  progress(sentence: string): void
}

export interface OutputOptions {
  readonly format: Format
  readonly color: boolean
  /** Whether tables and CSV have a line with the titles. */
  readonly headers: boolean
  /** Output to a terminal is stripped of control characters; output to a pipe is unchanged. */
  readonly isTerminal: boolean
  /** Columns of the terminal; undefined where there is none. */
  readonly width: number | undefined
  readonly write: (text: string) => void
  readonly writeError: (text: string) => void
  /** Rewrites the progress line, '' to clear it; undefined without a terminal. */
  readonly progress: ((text: string) => void) | undefined
}

/** Columns of the terminal; undefined for a pipe, and for a terminal of unknown width. */
export function terminalWidth(): number | undefined {
  return (process.stdout.isTTY && process.stdout.columns) || undefined
}

/** Interval of progress lines without a terminal. */
const PROGRESS_LINE_INTERVAL_MS = 10_000

/** Items between two updates of the progress of a list: a page. */
const PROGRESS_INTERVAL_ITEMS = 200

/** Items whose names are loaded together: a page. */
export const BATCH_ITEMS = 200

export function createOutput(options: OutputOptions): Output {
  const { format, color, headers, isTerminal, width, write, writeError, progress } = options
  const writeSanitized = isTerminal ? (text: string) => write(sanitizeLines(text)) : write
  const style: TextStyle = { bold: (text) => (color ? `\u001b[1m${text}\u001b[22m` : text), width }
  const idOf = <T extends object>(item: T, { id }: View<T>) =>
    id === undefined ? String((item as { readonly uid?: unknown }).uid ?? '') : id(item)

  const show = <T extends object>(items: readonly T[], view: View<T>): void => {
    const whole = format === 'wide'
    const columns = view.columns.filter(({ wide }) => whole || wide !== true)
    if (items.length === 0 && view.empty !== undefined) writeError(`${view.empty}\n`)
    else if (format === 'tree' && view.tree !== undefined) write(formatTree(items, view.tree))
    else
      write(
        formatTable(items, columns, { ...style, whole, headers }) ?? formatDetailsList(items, columns, style),
      )
  }
  const writeStructured = (value: object, indent = 2): boolean => {
    if (format === 'json') writeSanitized(`${JSON.stringify(value, undefined, indent)}\n`)
    else if (format === 'yaml') writeSanitized(loadYaml().stringify(value))
    return format === 'json' || format === 'yaml'
  }
  const writeCsvHeader = <T>({ columns }: View<T>) => {
    if (headers) writeSanitized(formatCsvLine(columns.map(({ title }) => title)))
  }
  const writeCsv = async <T>(items: readonly T[], { columns, load }: View<T>) => {
    await load?.(items)
    for (const item of items) writeSanitized(formatCsvLine(columns.map(({ value }) => value(item))))
  }
  let lastProgressMs = performance.now()
  return {
    format,
    isForPeople: ['table', 'wide', 'tree'].includes(format),
    async report(value, items, view) {
      if (!writeStructured(value, 0)) await this.list(items, view)
    },
    result(value, text) {
      if (!writeStructured(value, 0) && format !== 'none') write(text)
    },
    progress(sentence) {
      if (progress !== undefined) return progress(sentence)
      if (sentence === '' || performance.now() - lastProgressMs < PROGRESS_LINE_INTERVAL_MS) return
      lastProgressMs = performance.now()
      writeError(`${sentence}\n`)
    },
    async list(items, view) {
      if (format === 'none') return void (await drain(items))
      if (format === 'id') {
        for await (const item of items) writeSanitized(`${idOf(item, view)}\n`)
        return
      }
      if (format === 'csv') {
        writeCsvHeader(view)
        for await (const page of batchItems(items, BATCH_ITEMS)) await writeCsv(page, view)
        return
      }
      const all: object[] = []
      for await (const item of items) {
        all.push(item)
        if (all.length % PROGRESS_INTERVAL_ITEMS === 0) progress?.(`${all.length} items …`)
      }
      if (all.length >= PROGRESS_INTERVAL_ITEMS) progress?.('')
      if (writeStructured({ items: all })) return
      await view.load?.(all as never[])
      show(all as never[], view as never)
    },
    async item(item, view) {
      if (format === 'none') return
      if (writeStructured(item)) return
      if (format === 'id') return writeSanitized(`${idOf(item, view)}\n`)
      if (format === 'csv') {
        writeCsvHeader(view)
        return writeCsv([item], view)
      }
      await view.load?.([item])
      write(formatDetails(item, view.columns, style))
    },
    line: (line) => write(`${line}\n`),
    notice: (sentence) => writeError(`${sentence}\n`),
  }
}

async function drain(items: AsyncIterable<unknown> | Iterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** RFC 4180, with \n as line end. */
function formatCsvLine(values: readonly string[]): string {
  const quoted = values.map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
  return `${quoted.join(',')}\n`
}
