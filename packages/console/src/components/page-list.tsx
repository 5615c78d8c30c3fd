import {
  type DefaultError,
  type InfiniteData,
  type QueryKey,
  type UseInfiniteQueryOptions,
  useInfiniteQuery,
} from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button, Cell, Column, Row, Table, TableBody, TableHeader } from 'react-aria-components'
import type { Page } from '../api/queries.ts'
import { hasStatus, messageOf } from '../api/query-client.ts'
import { Problem } from './problem.tsx'

/** A list that is read page by page, as a table. */

export interface ColumnOf<T> {
  readonly id: string
  readonly title: string
  cell(item: T): ReactNode
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
  keyOf(item: T): string
}

const FORBIDDEN = 403

export function PageList<T, K extends QueryKey>(props: PageListProps<T, K>) {
  const { label, query, columns, empty, missing, keyOf } = props
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } =
    useInfiniteQuery(query)
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
          <div className="scroll">
            <Table aria-label={label} className="table">
              <TableHeader>
                {columns.map(({ id, title }, index) => (
                  <Column key={id} id={id} isRowHeader={index === 0}>
                    {title}
                  </Column>
                ))}
              </TableHeader>
              <TableBody>
                {items.map((item) => (
                  <Row key={keyOf(item)} id={keyOf(item)}>
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
              {items.length}
              {total === undefined ? '' : ` of ${total}`}
            </span>
            {hasNextPage && (
              <Button
                className="button quiet"
                isDisabled={isFetchingNextPage}
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

function NoPermission({ label, reason }: { readonly label: string; readonly reason: string }) {
  return (
    <div className="empty">
      <p>You have no permission to see {label.toLowerCase()} here.</p>
      <p className="muted">{reason}</p>
    </div>
  )
}
