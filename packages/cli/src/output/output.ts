import type { Format } from '../config/settings.ts'
import { formatDetails, formatDetailsList } from './details.ts'
import { formatTable, type TextStyle } from './table.ts'
import { sanitizeLines } from './text-width.ts'
import { formatTree } from './tree.ts'
import { loadYaml } from './yaml.ts'

/** How answers are shown: for people as tables, trees and details, for programs as JSON, YAML, CSV or bare uids. */

export interface Column<T> {
  readonly title: string
  readonly value: (item: T) => string
  /** Not in plain tables: only in `wide` ones, in CSV, and where one item is shown. */
  readonly wide?: boolean
  /**
   * Where there is little room, a uid gives way in its middle, a name stays whole, and a long text takes several lines; a time (ISO)
   * is shown as people read it. Default: a text that is cut.
   */
  readonly kind?: 'uid' | 'name' | 'long' | 'time'
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
  /** A line between the tables of an answer that has several. */
  line(line: string): void
  /** What was done, where there is nothing to show: on standard error, so that pipes stay clean. */
  notice(sentence: string): void
  /**
   * How far something is that takes long, '' when it is done: one line on a terminal that changes, elsewhere a line now and then.
   * On standard error as well.
   */
  progress(sentence: string): void
}

export interface OutputOptions {
  readonly format: Format
  readonly color: boolean
  /** Whether a terminal is written to: a pipe gets every byte that others wrote, a terminal what it can print. */
  readonly isTerminal: boolean
  /** Columns of the terminal; undefined where there is none. */
  readonly width: number | undefined
  readonly write: (text: string) => void
  readonly writeError: (text: string) => void
  /** Shows how far a long list is, '' when it is done; undefined where nobody looks. */
  readonly progress: ((text: string) => void) | undefined
}

/** Columns of the terminal that is written to; undefined for a pipe, and for a terminal that does not know. */
export function terminalWidth(): number | undefined {
  return (process.stdout.isTTY && process.stdout.columns) || undefined
}

/** Between two lines about progress where nobody sees them change. */
const PROGRESS_LINE_INTERVAL_MS = 10_000

/** Items of a list between two words about its progress: a page. */
const PROGRESS_INTERVAL_ITEMS = 200

export function createOutput(options: OutputOptions): Output {
  const { format, color, isTerminal, width, write, writeError: tell, progress } = options
  const writeSanitized = isTerminal ? (text: string) => write(sanitizeLines(text)) : write
  const style: TextStyle = { bold: (text) => (color ? `\u001b[1m${text}\u001b[22m` : text), width }
  const idOf = <T extends object>(item: T, { id }: View<T>) =>
    id === undefined ? String((item as { readonly uid?: unknown }).uid ?? '') : id(item)

  const show = <T extends object>(items: readonly T[], view: View<T>): void => {
    const whole = format === 'wide'
    const columns = view.columns.filter(({ wide }) => whole || wide !== true)
    if (items.length === 0 && view.empty !== undefined) tell(`${view.empty}\n`)
    else if (format === 'tree' && view.tree !== undefined) write(formatTree(items, view.tree))
    else write(formatTable(items, columns, { ...style, whole }) ?? formatDetailsList(items, columns, style))
  }
  let lastProgressMs = performance.now()
  return {
    format,
    progress(sentence) {
      if (progress !== undefined) return progress(sentence)
      if (sentence === '' || performance.now() - lastProgressMs < PROGRESS_LINE_INTERVAL_MS) return
      lastProgressMs = performance.now()
      tell(`${sentence}\n`)
    },
    async list(items, view) {
      if (format === 'none') return void (await drain(items))
      if (format === 'id') {
        for await (const item of items) writeSanitized(`${idOf(item, view)}\n`)
        return
      }
      if (format === 'csv') {
        writeSanitized(formatCsvLine(view.columns.map(({ title }) => title)))
        for await (const item of items)
          writeSanitized(formatCsvLine(view.columns.map(({ value }) => value(item))))
        return
      }
      const all: object[] = []
      for await (const item of items) {
        all.push(item)
        if (all.length % PROGRESS_INTERVAL_ITEMS === 0) progress?.(`${all.length} so far …`)
      }
      if (all.length >= PROGRESS_INTERVAL_ITEMS) progress?.('')
      if (format === 'json') writeSanitized(`${JSON.stringify({ items: all }, undefined, 2)}\n`)
      else if (format === 'yaml') writeSanitized(loadYaml().stringify({ items: all }))
      else show(all as never[], view as never)
    },
    item(item, view) {
      if (format === 'none') return
      if (format === 'json') writeSanitized(`${JSON.stringify(item, undefined, 2)}\n`)
      else if (format === 'yaml') writeSanitized(loadYaml().stringify(item))
      else if (format === 'id') writeSanitized(`${idOf(item, view)}\n`)
      else if (format === 'csv')
        writeSanitized(
          formatCsvLine(view.columns.map(({ title }) => title)) +
            formatCsvLine(view.columns.map(({ value }) => value(item))),
        )
      else write(formatDetails(item, view.columns, style))
    },
    line: (line) => write(`${line}\n`),
    notice: (sentence) => tell(`${sentence}\n`),
  }
}

async function drain(items: AsyncIterable<unknown> | Iterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** RFC 4180, with the line ends of the machine. */
function formatCsvLine(values: readonly string[]): string {
  const quoted = values.map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
  return `${quoted.join(',')}\n`
}
