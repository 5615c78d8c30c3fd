import type { ReactNode } from 'react'
import { Cell, Column, Row, Table, TableBody, TableHeader } from 'react-aria-components'

export interface PlainColumn<T> {
  readonly id: string
  readonly title: string
  cell(item: T, index: number): ReactNode
}

/** A table of what the page has already. The first column names the row. */
export function PlainTable<T>({
  label,
  columns,
  items,
  keyOf,
}: {
  readonly label: string
  readonly columns: readonly PlainColumn<T>[]
  readonly items: readonly T[]
  keyOf(item: T, index: number): string
}) {
  return (
    <div className="scroll">
      <Table aria-label={label} className="table">
        <TableHeader>
          {columns.map(({ id, title }, at) => (
            <Column key={id} id={id} isRowHeader={at === 0}>
              {title}
            </Column>
          ))}
        </TableHeader>
        <TableBody>
          {items.map((item, index) => (
            <Row key={keyOf(item, index)} id={keyOf(item, index)}>
              {columns.map(({ id, cell }) => (
                <Cell key={id}>{cell(item, index)}</Cell>
              ))}
            </Row>
          ))}
        </TableBody>
      </Table>
    </div>
  )
}
