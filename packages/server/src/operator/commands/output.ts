import { formatDetailsList } from '@berth/cli/output/details.ts'
import { type Column, terminalWidth } from '@berth/cli/output/output.ts'
import { formatTable } from '@berth/cli/output/table.ts'

/** What the operator's commands print: text for a person, or one line of JSON. */
export function printResult(json: boolean, value: object, text: string): void {
  process.stdout.write(json ? `${JSON.stringify(value)}\n` : text)
}

/** A list as a table, or what to say when there is nothing in it. */
export function renderTable<T>(items: readonly T[], columns: readonly Column<T>[], empty: string): string {
  if (items.length === 0) return `${empty}\n`
  const look = { bold: (text: string) => text, width: terminalWidth() }
  return formatTable(items, columns, look) ?? formatDetailsList(items, columns, look)
}
