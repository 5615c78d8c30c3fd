import type { FocusEvent, KeyboardEvent } from 'react'

/**
 * Keys in the rows of a grid. Up and down move between rows, left and right between the row, its cells and their controls, in a circle. Home
 * and End move to the first and last cell, or row from a row; Tab leaves the grid, Space selects the row, with Shift all rows since the last
 * one, and Ctrl+A or Cmd+A all rows.
 */

const CONTROLS = ':is(a[href], button, input, select, textarea, summary):not(:disabled)'
/** Keys in these are for the text or the choice. */
const TYPING = 'textarea, select, input:not([type="checkbox"], [type="radio"])'

export function moveInGrid(event: KeyboardEvent<HTMLTableElement>): void {
  const { target, currentTarget: table, altKey, ctrlKey, metaKey, shiftKey } = event
  const [body] = table.tBodies
  // Events of a dialog that a cell has opened arrive here too.
  if (!(target instanceof HTMLElement) || !table.contains(target) || body === undefined) return
  if (event.defaultPrevented || altKey || target.matches(TYPING)) return
  if ((ctrlKey || metaKey) && event.key === 'a') {
    const all = table.tHead?.querySelector<HTMLInputElement>('.select-cell input')
    if (!all) return
    event.preventDefault()
    if (!all.checked) all.click()
    return
  }
  if (metaKey) return
  const row = target.closest<HTMLElement>('tbody > tr')
  if (row === null) {
    if (event.key !== 'ArrowDown') return
    event.preventDefault()
    body.querySelector<HTMLElement>('tr')?.focus()
    return
  }
  if (event.key === 'Tab') {
    leave(body, shiftKey)
    return
  }
  if (event.key === ' ') {
    const box = target === row ? row.querySelector<HTMLElement>('.select-cell input') : null
    if (box === null) return
    event.preventDefault()
    box.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, shiftKey }))
    return
  }
  const next = nextStop(event, body, row, target)
  if (next === undefined) return
  event.preventDefault()
  next.focus()
}

function nextStop(
  { key, ctrlKey }: KeyboardEvent,
  body: HTMLElement,
  row: HTMLElement,
  target: HTMLElement,
): HTMLElement | undefined {
  const rows = [...body.querySelectorAll<HTMLElement>(':scope > tr')]
  const [at, stops] = [rows.indexOf(row), stopsOf(row)]
  const stop = stops.indexOf(target)
  const inRow = (other: HTMLElement | undefined) => {
    if (other === undefined) return undefined
    const cell = target.closest('td, th')
    if (cell === null) return other
    // The same column: its first control, or the cell.
    const same = other.children[[...row.children].indexOf(cell)]
    return stopsOf(other).find((one) => same?.contains(one))
  }
  switch (key) {
    case 'ArrowDown':
      return inRow(rows[at + 1])
    case 'ArrowUp':
      return inRow(rows[at - 1])
    case 'ArrowRight':
      return stops[(stop + 1) % stops.length]
    case 'ArrowLeft':
      return stops.at(stop - 1)
    case 'Home':
      return ctrlKey || target === row ? rows[0] : stops[1]
    case 'End':
      return ctrlKey || target === row ? rows.at(-1) : stops.at(-1)
    default:
      return undefined
  }
}

/** The row, and of each cell its controls, or the cell itself. */
function stopsOf(row: HTMLElement): HTMLElement[] {
  const cells = [...row.children].filter((cell) => cell instanceof HTMLElement)
  const inCells = cells.flatMap((cell) => {
    const controls = [...cell.querySelectorAll<HTMLElement>(CONTROLS)]
    return controls.length === 0 ? [cell] : controls
  })
  return [row, ...inCells]
}

/** Moves the focus to the first or last element of the grid: the browser then finds the one before or after it. */
function leave(body: HTMLElement, isBackwards: boolean): void {
  const all = [...body.querySelectorAll<HTMLElement>(`tr[tabindex="0"], ${CONTROLS}`)]
  const edge = isBackwards ? body.querySelector('tr') : all.at(-1)
  isLeaving = true
  edge?.focus()
  isLeaving = false
}

let isLeaving = false

/** The focus only passes a row on its way out of the grid: it is not where the user was. */
export const isPassed = (): boolean => isLeaving

/** The Tab key is down. */
let isTabbing = false
document.addEventListener('keydown', ({ key }) => (isTabbing = key === 'Tab'), { capture: true })
document.addEventListener('keyup', () => (isTabbing = false), { capture: true })

/** Tab and Shift+Tab into the rows reach the tab stop, and not the first or last control, which the browser finds. */
export function enterGrid({
  target,
  relatedTarget,
  currentTarget: table,
}: FocusEvent<HTMLTableElement>): void {
  const [body] = table.tBodies
  if (!isTabbing || body?.contains(target) !== true) return
  if (relatedTarget instanceof Node && body.contains(relatedTarget)) return
  body.querySelector<HTMLElement>(':scope > tr[tabindex="0"]')?.focus()
}
