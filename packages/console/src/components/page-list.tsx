import {
  type DefaultError,
  hashKey,
  type InfiniteData,
  type QueryKey,
  type UseInfiniteQueryOptions,
  useInfiniteQuery,
} from '@tanstack/react-query'
import { Check } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import {
  Button,
  Cell,
  Checkbox,
  Column,
  Row,
  type Selection,
  type SortDescriptor,
  Table,
  TableBody,
  TableHeader,
} from 'react-aria-components'
import type { Page } from '../api/queries/pages.ts'
import { hasStatus, messageOf } from '../api/query-client.ts'
import { NoPermission } from './no-permission.tsx'
import { Problem } from './problem.tsx'
import { formatNumber } from './quantity.tsx'

/** A list that is read page by page, as a table. */

export interface ColumnOf<T> {
  readonly id: string
  readonly title: string
  /** Sort key of the API, if the list can be sorted by this column. */
  readonly sortKey?: string
  cell(item: T): ReactNode
}

/** The order of a list, as the API has it: `name` or `created_at desc`. */
export interface ListOrder {
  readonly value: string
  readonly onChange: (value: string) => void
}

export interface ListSelection {
  readonly keys: ReadonlySet<string>
  readonly onChange: (keys: ReadonlySet<string>) => void
}

interface PageListProps<T, K extends QueryKey> {
  readonly label: string
  readonly query: UseInfiniteQueryOptions<Page<T>, DefaultError, InfiniteData<Page<T>>, K, string>
  /** The first column has the name of the item. */
  readonly columns: readonly ColumnOf<T>[]
  /** What to do if there is nothing yet. */
  readonly empty: ReactNode
  /** Which permission the user lacks to read the list. */
  readonly missing?: string | undefined
  readonly order?: ListOrder
  /** Rows that the user selected, for actions on several. */
  readonly selection?: ListSelection
  keyOf(item: T): string
}

const FORBIDDEN = 403

export function PageList<T, K extends QueryKey>(props: PageListProps<T, K>) {
  const { label, query, columns, empty, missing, order, selection, keyOf } = props
  const sortedFrom = useRef('')
  const {
    data,
    error,
    isPending,
    isPlaceholderData,
    hasNextPage,
    isFetchingNextPage,
    fetchNextPage,
    refetch,
  } = useInfiniteQuery({
    ...query,
    // The rows stay while they are sorted: a new table would take the focus from its column header.
    placeholderData: (rows, from) => (from?.queryHash === sortedFrom.current ? rows : undefined),
  })
  if (missing !== undefined) return <NoPermission label={label} reason={missing} />
  if (isPending)
    return (
      <p className="muted" role="status">
        Loading {label.toLowerCase()}…
      </p>
    )
  if (data === undefined) {
    if (hasStatus(error, FORBIDDEN)) return <NoPermission label={label} reason={messageOf(error)} />
    return <Problem title={`${label} not available`} failure={error} onRetry={() => void refetch()} />
  }
  const items = data.pages.flatMap((page) => page.items)
  const total = data.pages[0]?.totalCount
  function sort(value: string) {
    sortedFrom.current = hashKey(query.queryKey)
    order?.onChange(value)
  }
  return (
    <>
      {error !== null && (
        <p className="alert" role="alert">
          This list may not be current. {messageOf(error)}
        </p>
      )}
      {items.length === 0 ? (
        <div className="empty">{empty}</div>
      ) : (
        <>
          <div className="scroll" aria-busy={isPlaceholderData}>
            <Table
              aria-label={label}
              className="table"
              {...(order !== undefined && sortingOf({ ...order, onChange: sort }, columns))}
              {...(selection !== undefined && selectionOf(selection, items.map(keyOf)))}
            >
              <TableHeader>
                {selection !== undefined && (
                  <Column className="select-cell">
                    <SelectBox />
                  </Column>
                )}
                {columns.map(({ id, title, sortKey }, at) => (
                  <Column
                    key={id}
                    id={id}
                    isRowHeader={at === 0}
                    allowsSorting={order !== undefined && sortKey !== undefined}
                  >
                    {title}
                  </Column>
                ))}
              </TableHeader>
              <TableBody>
                {items.map((item) => (
                  <Row key={keyOf(item)} id={keyOf(item)}>
                    {selection !== undefined && (
                      <Cell className="select-cell">
                        <SelectBox />
                      </Cell>
                    )}
                    {columns.map(({ id, cell }) => (
                      <Cell key={id}>{cell(item)}</Cell>
                    ))}
                  </Row>
                ))}
              </TableBody>
            </Table>
          </div>
          <div className="more">
            <span className="muted" role="status">
              {formatNumber(items.length)}{' '}
              {total !== undefined ? `of ${formatNumber(total)}` : hasNextPage ? 'shown' : 'in total'}
            </span>
            {hasNextPage && (
              <Button
                className="button quiet"
                isDisabled={isFetchingNextPage || isPlaceholderData}
                onPress={() => void fetchNextPage()}
              >
                {isFetchingNextPage ? 'Loading…' : 'Load more'}
              </Button>
            )}
          </div>
        </>
      )}
    </>
  )
}

function SelectBox() {
  return (
    <Checkbox slot="selection" className="checkbox">
      <span className="checkbox-box" aria-hidden>
        <Check size={14} />
      </span>
    </Checkbox>
  )
}

function sortingOf<T>({ value, onChange }: ListOrder, columns: readonly ColumnOf<T>[]) {
  const [key, direction] = value.split(' ')
  const column = columns.find(({ sortKey }) => sortKey === key)
  return {
    ...(column !== undefined && {
      sortDescriptor: {
        column: column.id,
        direction: direction === 'desc' ? ('descending' as const) : ('ascending' as const),
      },
    }),
    onSortChange: (next: SortDescriptor) => {
      const sortKey = columns.find(({ id }) => id === next.column)?.sortKey ?? ''
      onChange(next.direction === 'descending' ? `${sortKey} desc` : sortKey)
    },
  }
}

/** Only rows that are shown can be selected. */
function selectionOf({ keys, onChange }: ListSelection, shown: readonly string[]) {
  return {
    selectionMode: 'multiple' as const,
    selectedKeys: keys,
    onSelectionChange: (selected: Selection) =>
      onChange(new Set(selected === 'all' ? shown : [...selected].map(String))),
  }
}
