import { Check } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import { enterGrid, isPassed, moveInGrid } from './grid-keys.ts'
import { Reasons } from './reasons.tsx'

/**
 * Tables by the pattern of WAI-ARIA for grids: one tab stop, arrow keys move between rows and cells.
 *
 * Not the table of React Aria, which is rendered twice: for its collection, and for the page (ADR 41).
 */

export interface PlainColumn<T> {
  readonly id: string
  readonly title: string
  /** Sort key of the API, if the list can be sorted by this column. */
  readonly sortKey?: string
  cell(item: T, index: number): ReactNode
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

interface PlainTableProps<T> {
  readonly label: string
  /** The first column names the row. */
  readonly columns: readonly PlainColumn<T>[]
  readonly items: readonly T[]
  readonly order?: ListOrder | undefined
  /** Rows that the user selected, for actions on several. */
  readonly selection?: ListSelection | undefined
  /** Other rows are being read. */
  readonly isBusy?: boolean
  keyOf(item: T, index: number): string
}

/** A table of what the page has already. Why actions of its rows are disabled is written once above it. */
export function PlainTable<T>(props: PlainTableProps<T>) {
  const { label, columns, items, order, selection, isBusy = false, keyOf } = props
  const [active, setActive] = useState('')
  /** The row that was selected or deselected last. */
  const [last, setLast] = useState('')
  const keys = items.map(keyOf)
  const stop = keys.includes(active) ? active : keys[0]
  const toggle = (key: string, selected: boolean, isRange: boolean) => {
    const [from, to] = [keys.indexOf(last), keys.indexOf(key)]
    const rows = isRange && from >= 0 ? keys.slice(Math.min(from, to), Math.max(from, to) + 1) : [key]
    selection?.onChange(changed(selection.keys, rows, selected))
    setLast(key)
  }
  return (
    <Reasons>
      <div className="scroll" aria-busy={isBusy}>
        <table
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a grid has the markup of a table
          role="grid"
          aria-label={label}
          className="table"
          tabIndex={-1}
          onFocus={enterGrid}
          onKeyDown={moveInGrid}
        >
          <thead>
            <tr>
              {selection !== undefined && (
                <th scope="col" className="select-cell">
                  <SelectAll selection={selection} shown={keys} />
                </th>
              )}
              {columns.map((column) => (
                <HeaderCell key={column.id} column={column} order={order} />
              ))}
            </tr>
          </thead>
          <tbody>
            {items.map((item, index) => {
              const key = keys[index] ?? ''
              return (
                <TableRow
                  key={key}
                  rowKey={key}
                  isStop={key === stop}
                  onFocus={setActive}
                  isSelected={selection?.keys.has(key)}
                  onToggle={toggle}
                  cells={columns.map((column) => [column.id, column.cell(item, index)])}
                />
              )
            })}
          </tbody>
        </table>
      </div>
    </Reasons>
  )
}

interface HeaderCellProps<T> {
  readonly column: PlainColumn<T>
  readonly order: ListOrder | undefined
}

function HeaderCell<T>({ column: { title, sortKey }, order }: HeaderCellProps<T>) {
  if (order === undefined || sortKey === undefined) return <th scope="col">{title}</th>
  const [key, direction = 'asc'] = order.value.split(' ')
  const isSorted = key === sortKey
  const isDescending = isSorted && direction === 'desc'
  return (
    <th scope="col" aria-sort={!isSorted ? 'none' : isDescending ? 'descending' : 'ascending'}>
      <button
        type="button"
        className="sort"
        onClick={() => order.onChange(isSorted && !isDescending ? `${sortKey} desc` : sortKey)}
      >
        {title}
      </button>
    </th>
  )
}

interface TableRowProps {
  readonly rowKey: string
  /** The tab stop of the table. */
  readonly isStop: boolean
  readonly onFocus: (key: string) => void
  /** Undefined if rows cannot be selected. */
  readonly isSelected: boolean | undefined
  /** `isRange`: with all rows since the last one. */
  readonly onToggle: (key: string, selected: boolean, isRange: boolean) => void
  readonly cells: readonly (readonly [column: string, content: ReactNode])[]
}

function TableRow({ rowKey, isStop, onFocus, isSelected, onToggle, cells }: TableRowProps) {
  const name = useId()
  return (
    <tr
      aria-labelledby={name}
      tabIndex={isStop ? 0 : -1}
      onFocus={() => isPassed() || onFocus(rowKey)}
      {...(isSelected !== undefined && { 'aria-selected': isSelected })}
    >
      {isSelected !== undefined && (
        <td tabIndex={-1} className="select-cell">
          <SelectBox
            label="Select"
            labelledBy={name}
            isSelected={isSelected}
            onChange={(selected, isRange) => onToggle(rowKey, selected, isRange)}
          />
        </td>
      )}
      {cells.map(([column, content], at) =>
        at === 0 ? (
          <th key={column} scope="row" id={name} tabIndex={-1}>
            {content}
          </th>
        ) : (
          <td key={column} tabIndex={-1}>
            {content}
          </td>
        ),
      )}
    </tr>
  )
}

/** Only rows that are shown can be selected. */
function SelectAll({
  selection: { keys, onChange },
  shown,
}: {
  readonly selection: ListSelection
  readonly shown: readonly string[]
}) {
  const selected = shown.filter((key) => keys.has(key)).length
  return (
    <SelectBox
      label="Select all"
      isSelected={selected > 0 && selected === shown.length}
      isPartly={selected > 0 && selected < shown.length}
      onChange={(all) => onChange(changed(keys, shown, all))}
    />
  )
}

interface SelectBoxProps {
  readonly label: string
  /** Id of the element that names the row. */
  readonly labelledBy?: string
  readonly isSelected: boolean
  /** Some of the rows are selected. */
  readonly isPartly?: boolean
  /** `isRange`: the Shift key was down. */
  readonly onChange: (isSelected: boolean, isRange: boolean) => void
}

function SelectBox({ label, labelledBy, isSelected, isPartly = false, onChange }: SelectBoxProps) {
  const id = useId()
  return (
    <label
      className="checkbox"
      data-selected={isSelected || isPartly || undefined}
      // With Shift, the browser would select text instead.
      onMouseDown={(event) => event.shiftKey && event.preventDefault()}
    >
      <input
        ref={(box) => {
          if (box !== null) box.indeterminate = isPartly
        }}
        id={id}
        type="checkbox"
        className="unseen"
        aria-label={label}
        {...(labelledBy !== undefined && { 'aria-labelledby': `${id} ${labelledBy}` })}
        checked={isSelected}
        onChange={({ currentTarget, nativeEvent }) =>
          onChange(currentTarget.checked, 'shiftKey' in nativeEvent && nativeEvent.shiftKey === true)
        }
      />
      <span className="checkbox-box" aria-hidden>
        <Check size={14} />
      </span>
    </label>
  )
}

function changed(keys: ReadonlySet<string>, rows: readonly string[], selected: boolean): Set<string> {
  const next = new Set(keys)
  for (const key of rows)
    if (selected) next.add(key)
    else next.delete(key)
  return next
}
