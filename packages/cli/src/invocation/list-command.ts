import { batchItems } from '../output/item-batches.ts'
import { BATCH_ITEMS, type View } from '../output/output.ts'
import {
  columnFields,
  matchesFilters,
  parseFilter,
  parseSort,
  type RowFilter,
  type SortKey,
  sortRows,
} from '../output/row-selection.ts'
import type { CommandDeclaration, OptionDeclaration } from './command-declaration.ts'
import { type Invocation, UsageError } from './invocation.ts'

/** Declares commands that print a list: each has `--sort`, `--filter` and `--limit`. */
export interface ListDeclaration<T extends object>
  extends Omit<CommandDeclaration, 'name' | 'run' | 'commands'> {
  /** Default: `list`, with the alias `ls`. */
  readonly name?: string
  readonly view: (invocation: Invocation) => View<T> | Promise<View<T>>
  readonly items: (
    invocation: Invocation,
    request: ListRequest,
  ) => AsyncIterable<T> | Iterable<T> | Promise<AsyncIterable<T> | Iterable<T>>
  /** Names of `--sort`, and the fields of `order_by` that they stand for. */
  readonly serverSort?: Readonly<Record<string, string>>
  /** Columns that `--filter COLUMN=VALUE` passes to the API, by the field of the request. */
  readonly serverFilters?: Readonly<Record<string, string>>
  /** Order without `--sort`. */
  readonly defaultSort?: string
  /** Rows without `--limit`. */
  readonly defaultLimit?: number
}

/** Fields of a list request that follow from the options. */
export interface ListRequest {
  readonly orderBy?: string
  readonly pageSize?: number
  readonly [filter: string]: string | number | undefined
}

/** Most resources of the API can be sorted by these. */
export const timeSort = { created: 'created_at', updated: 'updated_at', id: 'uid' } as const
export const nameSort = { name: 'name', ...timeSort } as const

const listOptions: readonly OptionDeclaration[] = [
  { flags: '--sort <field>', summary: "sort field, such as name or 'created desc'" },
  {
    flags: '--filter <condition>',
    summary: 'COLUMN=VALUE, COLUMN!=VALUE or COLUMN~TEXT; * matches any text (repeatable)',
    repeatable: true,
  },
  { flags: '--limit <n>', summary: 'maximum number of rows' },
]

export function listCommand<T extends object>(list: ListDeclaration<T>): CommandDeclaration {
  const { name = 'list', view, items, serverSort, serverFilters, defaultSort, defaultLimit, ...rest } = list
  return {
    ...rest,
    name,
    aliases: rest.aliases ?? (name === 'list' ? ['ls'] : []),
    options: [...(rest.options ?? []), ...listOptions],
    notes: [rest.notes, sortNotes(list)].filter(Boolean).join('\n\n'),
    run: (invocation) => printList(invocation, list),
  }
}

function sortNotes<T extends object>({ serverSort = {} }: ListDeclaration<T>): string {
  const fields = Object.keys(serverSort)
  const client =
    'the command line sorts by all other columns, and filters, after it has fetched the whole list.'
  return fields.length === 0
    ? 'The command line sorts and filters after it has fetched the whole list.'
    : `The server sorts by ${fields.join(', ')};\n${client}`
}

export async function printList<T extends object>(
  invocation: Invocation,
  list: ListDeclaration<T>,
): Promise<void> {
  const view = await list.view(invocation)
  const limit = readLimit(invocation) ?? list.defaultLimit ?? Number.POSITIVE_INFINITY
  const filters = readFilters(invocation, view)
  const sort = readSort(invocation.option('sort') || (list.defaultSort ?? ''), list, view)
  const request: ListRequest = {
    ...('orderBy' in sort && { orderBy: sort.orderBy }),
    ...(filters.length === 0 && !('keys' in sort) && limit < BATCH_ITEMS && { pageSize: limit }),
    ...serverFilters(filters, list.serverFilters ?? {}),
  }
  const found = await list.items(invocation, request)
  const empty = filters.length === 0 ? view.empty : 'no rows match --filter'
  const shown = { ...view, ...(empty !== undefined && { empty }) }
  await invocation.output.list(selectRows(found, { view, filters, sort, limit }), shown)
}

interface Selection<T> {
  readonly view: View<T>
  readonly filters: readonly RowFilter[]
  readonly sort: Sort
  readonly limit: number
}

type Sort =
  | { readonly orderBy: string }
  | { readonly keys: readonly SortKey[] }
  | Readonly<Record<never, never>>

async function* selectRows<T>(
  found: AsyncIterable<T> | Iterable<T>,
  { view, filters, sort, limit }: Selection<T>,
): AsyncGenerator<T> {
  let left = limit
  for await (const row of 'keys' in sort
    ? sortAll(found, view, filters, sort.keys)
    : filterAll(found, view, filters)) {
    yield row
    if (--left <= 0) return
  }
}

async function* filterAll<T>(
  found: AsyncIterable<T> | Iterable<T>,
  view: View<T>,
  filters: readonly RowFilter[],
): AsyncGenerator<T> {
  if (filters.length === 0) return yield* found
  for await (const rows of batchItems(found, BATCH_ITEMS)) {
    await view.load?.(rows)
    yield* rows.filter((row) => matchesFilters(row, filters, view))
  }
}

async function* sortAll<T>(
  found: AsyncIterable<T> | Iterable<T>,
  view: View<T>,
  filters: readonly RowFilter[],
  keys: readonly SortKey[],
): AsyncGenerator<T> {
  const rows: T[] = []
  for await (const row of filterAll(found, view, filters)) rows.push(row)
  await view.load?.(rows)
  yield* sortRows(rows, keys, view)
}

function readLimit(invocation: Invocation): number | undefined {
  const text = invocation.option('limit')
  if (text === '') return undefined
  if (!/^[1-9][0-9]{0,8}$/.test(text))
    throw new UsageError(`--limit: ${JSON.stringify(text)} must be a positive integer`)
  return Number(text)
}

function readFilters<T>(invocation: Invocation, view: View<T>): RowFilter[] {
  const fields = columnFields(view)
  return invocation.optionValues('filter').map((text) => {
    const filter = parseFilter(text)
    if (filter === undefined)
      throw new UsageError(
        `--filter: ${JSON.stringify(text)} must be COLUMN=VALUE, COLUMN!=VALUE or COLUMN~TEXT`,
      )
    if (!fields.includes(filter.field))
      throw new UsageError(`--filter: unknown column ${filter.field}; use one of ${fields.join(', ')}`)
    return filter
  })
}

function readSort<T extends object>(
  text: string,
  { serverSort = {} }: ListDeclaration<T>,
  view: View<T>,
): Sort {
  if (text === '') return {}
  const columns = columnFields(view)
  const keys = parseSort(text)
  const orders = keys?.map(({ field, descending }) => {
    const order = serverSort[field] ?? Object.values(serverSort).find((name) => name === field)
    return order === undefined ? undefined : `${order}${descending ? ' desc' : ''}`
  })
  if (orders?.every((order) => order !== undefined)) return { orderBy: orders.join(', ') }
  if (keys?.every(({ field }) => columns.includes(field))) return { keys }
  const fields = [...new Set([...Object.keys(serverSort), ...columns])].join(', ')
  const unknown = keys?.find(({ field }) => !columns.includes(field) && serverSort[field] === undefined)
  if (unknown !== undefined)
    throw new UsageError(`--sort: unknown field ${unknown.field}; use one of ${fields}`)
  throw new UsageError(
    `--sort: ${JSON.stringify(text)} must be a field, optionally with asc or desc: one of ${fields}`,
  )
}

/** The API selects exact values; wildcards and other operators are up to `filterAll`. */
function serverFilters(
  filters: readonly RowFilter[],
  fields: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    filters.flatMap(({ field, operator, value }) => {
      const name = fields[field]
      return name === undefined || operator !== '=' || value === '' || value.includes('*')
        ? []
        : [[name, value]]
    }),
  )
}
