import { oneByOne } from './client/details.ts'
import { type Column, terminalWidth } from './client/output.ts'
import { tableOf } from './client/table.ts'

/** What the operator's commands print: text for a person, or one line of JSON. */
export function print(json: boolean, value: object, text: string): void {
  process.stdout.write(json ? `${JSON.stringify(value)}\n` : text)
}

/** A list as a table, or what to say when there is nothing in it. */
export function table<T>(items: readonly T[], columns: readonly Column<T>[], empty: string): string {
  if (items.length === 0) return `${empty}\n`
  const look = { bold: (text: string) => text, width: terminalWidth() }
  return tableOf(items, columns, look) ?? oneByOne(items, columns, look)
}
