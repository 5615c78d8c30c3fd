import {
  type DefaultError,
  hashKey,
  type InfiniteData,
  type QueryKey,
  type UseInfiniteQueryOptions,
  useInfiniteQuery,
} from '@tanstack/react-query'
import { type ReactNode, useRef } from 'react'
import { Button } from 'react-aria-components'
import { FORBIDDEN } from '../api/http-status.ts'
import type { Page } from '../api/queries/pages.ts'
import { hasStatus, messageOf } from '../api/query-client.ts'
import { NoPermission } from './no-permission.tsx'
import { type ListOrder, type ListSelection, type PlainColumn, PlainTable } from './plain-table.tsx'
import { Problem } from './problem.tsx'
import { formatNumber } from './quantity.tsx'

/** A list that is read page by page, as a table. */

interface PageListProps<T, K extends QueryKey> {
  readonly label: string
  readonly query: UseInfiniteQueryOptions<Page<T>, DefaultError, InfiniteData<Page<T>>, K, string>
  /** The first column has the name of the item. */
  readonly columns: readonly PlainColumn<T>[]
  /** What to do if there is nothing yet. */
  readonly empty: ReactNode
  /** Which permission the user lacks to read the list. */
  readonly missing?: string | undefined
  readonly order?: ListOrder
  /** Rows that the user selected, for actions on several. */
  readonly selection?: ListSelection
  keyOf(item: T): string
}

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
          <PlainTable
            label={label}
            columns={columns}
            items={items}
            keyOf={keyOf}
            order={order && { ...order, onChange: sort }}
            selection={selection}
            isBusy={isPlaceholderData}
          />
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
