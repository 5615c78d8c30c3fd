import { type InfiniteData, type UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button, Cell, Column, Row, Table, TableBody, TableHeader } from 'react-aria-components'
import { messageOf } from '../api/query-client.ts'
import { Problem } from './problem.tsx'

/** A list that is read page by page, as a table. */

export interface ColumnOf<T> {
  readonly id: string
  readonly title: string
  readonly align?: 'end'
  cell(item: T): ReactNode
}

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextPageToken: string
  /** 64-bit integer as text; absent if the server did not count. */
  readonly totalCount?: string | undefined
}

interface PageListProps<T> {
  readonly label: string
  readonly query: UseInfiniteQueryResult<InfiniteData<Page<T>>>
  /** The first column has the name of the item. */
  readonly columns: readonly ColumnOf<T>[]
  readonly empty: ReactNode
  keyOf(item: T): string
}

export function PageList<T>({ label, query, columns, empty, keyOf }: PageListProps<T>) {
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = query
  if (isPending) return <p className="muted" aria-busy="true">Loading {label.toLowerCase()}…</p>
  if (data === undefined) return <Problem title={`Cannot list ${label.toLowerCase()}`} failure={error} />
  const items = data.pages.flatMap((page) => page.items)
  if (items.length === 0) return <div className="empty">{empty}</div>
  const total = data.pages[0]?.totalCount
  return (
    <>
      {error !== null && <p role="alert">Not current: {messageOf(error)}</p>}
      <Table aria-label={label} className="table">
        <TableHeader>
          {columns.map(({ id, title, align }, index) => (
            <Column key={id} id={id} isRowHeader={index === 0} className={align ?? ''}>
              {title}
            </Column>
          ))}
        </TableHeader>
        <TableBody>
          {items.map((item) => (
            <Row key={keyOf(item)} id={keyOf(item)}>
              {columns.map(({ id, align, cell }) => (
                <Cell key={id} className={align ?? ''}>
                  {cell(item)}
                </Cell>
              ))}
            </Row>
          ))}
        </TableBody>
      </Table>
      <p className="muted">
        {items.length}
        {total === undefined ? '' : ` of ${total}`}
        {hasNextPage && (
          <Button className="link" isDisabled={isFetchingNextPage} onPress={() => void fetchNextPage()}>
            {isFetchingNextPage ? 'Loading…' : 'Load more'}
          </Button>
        )}
      </p>
    </>
  )
}
