import type { Column, View } from './output.ts'

/** Sorts and filters the rows of a list by its columns: `--sort 'created desc'`, `--filter state=affected`. */

export interface SortKey {
  readonly field: string
  readonly descending: boolean
}

export interface RowFilter {
  readonly field: string
  readonly operator: '=' | '!=' | '~'
  readonly value: string
}

/** The name of a column in options: `LAST SEEN` is `last-seen`. */
export function columnField({ title }: Pick<Column<never>, 'title'>): string {
  return title.toLowerCase().replaceAll(' ', '-')
}

export function columnFields<T>({ columns }: View<T>): string[] {
  return columns.filter(({ title }) => title !== '').map(columnField)
}

/** Parses `created desc, name`. Returns undefined if it is invalid. */
export function parseSort(text: string): readonly SortKey[] | undefined {
  const keys = text.split(',').map((part) => {
    const [, field, direction = 'asc'] = /^\s*([\w-]+)(?:\s+(asc|desc))?\s*$/i.exec(part) ?? []
    return field === undefined ? undefined : { field, descending: direction.toLowerCase() === 'desc' }
  })
  return keys.every((key) => key !== undefined) ? keys : undefined
}

/** Parses `state=affected`, `state!=fixed` or `name~web`. Returns undefined if it is invalid. */
export function parseFilter(text: string): RowFilter | undefined {
  const [, field, operator, value = ''] = /^\s*([\w-]+)\s*(=|!=|~)\s*(.*?)\s*$/s.exec(text) ?? []
  return field === undefined ? undefined : { field, operator: operator as RowFilter['operator'], value }
}

let collator: Intl.Collator | undefined

export function sortRows<T>(rows: readonly T[], keys: readonly SortKey[], view: View<T>): T[] {
  const columns = keys.map(({ field, descending }) => ({ column: findColumn(view, field), descending }))
  return rows.toSorted((one, other) => {
    for (const { column, descending } of columns) {
      const order = compare(sortValue(column, one), sortValue(column, other))
      if (order !== 0) return descending ? -order : order
    }
    return 0
  })
}

function compare(one: string | number, other: string | number): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other
  // Created on use: it loads locale data (ICU), which every command, and the server, would keep in memory.
  collator ??= new Intl.Collator('en', { numeric: true })
  return collator.compare(String(one), String(other))
}

function sortValue<T>({ sortValue, value }: Column<T>, row: T): string | number {
  return (sortValue ?? value)(row)
}

export function matchesFilters<T>(row: T, filters: readonly RowFilter[], view: View<T>): boolean {
  return filters.every(({ field, operator, value }) => {
    const text = findColumn(view, field).value(row)
    if (operator === '~') return text.toLowerCase().includes(value.toLowerCase())
    return matchesWildcards(text, value) === (operator === '=')
  })
}

/** `*` matches any text. */
function matchesWildcards(text: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false
  let at = first.length
  const end = text.length - last.length
  return rest.every((part) => {
    const found = text.indexOf(part, at)
    at = found + part.length
    return found >= 0 && at <= end
  })
}

/** The caller has checked that the view has the column. */
function findColumn<T>({ columns }: View<T>, field: string): Column<T> {
  return columns.find((column) => columnField(column) === field) as Column<T>
}
