import { detailsOf, oneByOne } from './details.ts'
import type { Format } from './settings.ts'
import { type Look, tableOf } from './table.ts'
import { printableLines } from './text-width.ts'
import { treeOf } from './tree.ts'
import { yaml } from './yaml.ts'

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
  text(line: string): void
  /** What was done, where there is nothing to show: on standard error, so that pipes stay clean. */
  done(sentence: string): void
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
  readonly tell: (text: string) => void
  /** Shows how far a long list is, '' when it is done; undefined where nobody looks. */
  readonly progress: ((text: string) => void) | undefined
}

/** Columns of the terminal that is written to; undefined for a pipe, and for a terminal that does not know. */
export function terminalWidth(): number | undefined {
  return (process.stdout.isTTY && process.stdout.columns) || undefined
}

/** Between two lines about progress where nobody sees them change. */
const TOLD_EVERY_MS = 10_000

/** Items of a list between two words about its progress: a page. */
const SHOWN_EVERY = 200

export function createOutput(options: OutputOptions): Output {
  const { format, color, isTerminal, width, write, tell, progress } = options
  const raw = isTerminal ? (text: string) => write(printableLines(text)) : write
  const look: Look = { bold: (text) => (color ? `\u001b[1m${text}\u001b[22m` : text), width }
  const idOf = <T extends object>(item: T, { id }: View<T>) =>
    id === undefined ? String((item as { readonly uid?: unknown }).uid ?? '') : id(item)

  const show = <T extends object>(items: readonly T[], view: View<T>): void => {
    const whole = format === 'wide'
    const columns = view.columns.filter(({ wide }) => whole || wide !== true)
    if (items.length === 0 && view.empty !== undefined) tell(`${view.empty}\n`)
    else if (format === 'tree' && view.tree !== undefined) write(treeOf(items, view.tree))
    else write(tableOf(items, columns, { ...look, whole }) ?? oneByOne(items, columns, look))
  }
  let toldMs = performance.now()
  return {
    format,
    progress(sentence) {
      if (progress !== undefined) return progress(sentence)
      if (sentence === '' || performance.now() - toldMs < TOLD_EVERY_MS) return
      toldMs = performance.now()
      tell(`${sentence}\n`)
    },
    async list(items, view) {
      if (format === 'none') return void (await drain(items))
      if (format === 'id') {
        for await (const item of items) raw(`${idOf(item, view)}\n`)
        return
      }
      if (format === 'csv') {
        raw(csvLine(view.columns.map(({ title }) => title)))
        for await (const item of items) raw(csvLine(view.columns.map(({ value }) => value(item))))
        return
      }
      const all: object[] = []
      for await (const item of items) {
        all.push(item)
        if (all.length % SHOWN_EVERY === 0) progress?.(`${all.length} so far …`)
      }
      if (all.length >= SHOWN_EVERY) progress?.('')
      if (format === 'json') raw(`${JSON.stringify({ items: all }, undefined, 2)}\n`)
      else if (format === 'yaml') raw(yaml().stringify({ items: all }))
      else show(all as never[], view as never)
    },
    item(item, view) {
      if (format === 'none') return
      if (format === 'json') raw(`${JSON.stringify(item, undefined, 2)}\n`)
      else if (format === 'yaml') raw(yaml().stringify(item))
      else if (format === 'id') raw(`${idOf(item, view)}\n`)
      else if (format === 'csv')
        raw(
          csvLine(view.columns.map(({ title }) => title)) +
            csvLine(view.columns.map(({ value }) => value(item))),
        )
      else write(detailsOf(item, view.columns, look))
    },
    text: (line) => write(`${line}\n`),
    done: (sentence) => tell(`${sentence}\n`),
  }
}

async function drain(items: AsyncIterable<unknown> | Iterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** RFC 4180, with the line ends of the machine. */
function csvLine(values: readonly string[]): string {
  const quoted = values.map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
  return `${quoted.join(',')}\n`
}
