import type { Column } from './output.ts'
import type { Look } from './table.ts'
import { padded, printable, widest, wrapped } from './text-width.ts'
import { longTime } from './times.ts'

const GAP = 2
const NARROWEST = 24

/** One thing with all that is known of it, a line each: nothing is cut, and what is empty is left out. */
export function detailsOf<T>(item: T, columns: readonly Column<T>[], { bold, width }: Look): string {
  const rows = columns
    .map(({ title, kind, value }) => {
      const text = printable(value(item))
      return [title, kind === 'time' && text !== '' ? longTime(text) : text] as const
    })
    .filter(([, text]) => text !== '')
  const indent = widest(rows.map(([title]) => title)) + GAP
  const room = width === undefined ? Number.POSITIVE_INFINITY : Math.max(NARROWEST, width - indent)
  return rows
    .flatMap(([title, text]) =>
      wrapped(text, room).map((line, at) => {
        const label = padded(at === 0 ? title : '', indent)
        return `${at === 0 ? bold(label) : label}${line}\n`
      }),
    )
    .join('')
}

/** A list that is too wide for a table. */
export function oneByOne<T>(items: readonly T[], columns: readonly Column<T>[], look: Look): string {
  return items.map((item) => detailsOf(item, columns, look)).join('\n')
}
