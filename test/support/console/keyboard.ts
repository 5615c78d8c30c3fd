import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Locator, Page } from 'playwright-core'
import { PATIENCE_MS } from '../eventually.ts'

/** The console without a mouse: keys only, and the focus is seen wherever it is. */

type Role = Parameters<Page['getByRole']>[0]
type Name = string | RegExp

const WAIT_STEP_MS = 25
const TABS_MAX = 80

/** Waits for an element, and presses Tab until it has the focus. Fails with the list of stops. */
export const tabTo = (page: Page, role: Role, name: Name): Promise<void> => pressTo(page, 'Tab', role, name)

/** As `tabTo`, in the other direction. */
export const tabBackTo = (page: Page, role: Role, name: Name): Promise<void> =>
  pressTo(page, 'Shift+Tab', role, name)

/** Presses a key until an element has the focus: arrow keys in tables, tabs and choices. */
export async function pressTo(page: Page, key: string, role: Role, name: Name): Promise<void> {
  // Hidden: the open list of a combobox hides the rest of the page, until Tab closes it.
  await named(page, role, name, true).first().waitFor({ state: 'attached' })
  const stops: string[] = []
  while (stops.length < TABS_MAX) {
    await page.keyboard.press(key)
    await assertFocusShown(page, stops)
    if (await hasFocus(page, role, name)) return
    stops.push(await focused(page))
  }
  assert.fail(`${key} does not reach ${role} ${name}. It stops at:\n${stops.join('\n')}`)
}

/** Walks down a table, one of whose rows has the focus, to a row with a text. */
export async function walkToRow(page: Page, text: string): Promise<void> {
  const row = page.getByRole('row').filter({ hasText: text }).and(page.locator(':focus'))
  for (let rows = 0; (await row.count()) === 0; rows++) {
    assert.ok(rows < TABS_MAX, `no row with ${text}`)
    await page.keyboard.press('ArrowDown')
    await assertFocusShown(page)
  }
}

/** Waits until an element has the focus: after a dialog opens or closes, and after a navigation. */
export async function assertFocused(page: Page, role: Role, name: Name): Promise<void> {
  for (
    const deadline = Date.now() + PATIENCE_MS;
    !(await hasFocus(page, role, name));
    await pause(WAIT_STEP_MS)
  )
    if (Date.now() > deadline) assert.fail(`${await focused(page)} has the focus, not ${role} ${name}`)
  await assertFocusShown(page)
}

/** Waits until any element has the focus: after what had it is gone. */
export async function assertSomethingFocused(page: Page): Promise<void> {
  await assertFocusShown(page)
}

/** Presses keys one after another. */
export async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key)
}

/** Opens a dialog from the button that has the focus. */
export async function openDialog(page: Page, title: Name): Promise<void> {
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: title }).waitFor()
  for (const deadline = Date.now() + PATIENCE_MS; !(await isFocusInDialog(page)); await pause(WAIT_STEP_MS))
    if (Date.now() > deadline) assert.fail(`the focus stays at ${await focused(page)}, outside of the dialog`)
}

/** Closes a dialog; the focus returns to what opened it. */
export async function escapeTo(page: Page, role: Role, name: Name): Promise<void> {
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await assertFocused(page, role, name)
}

/** Closes a dialog in which something is entered, and discards that; the focus returns to what opened it. */
export async function discardTo(page: Page, role: Role, name: Name): Promise<void> {
  await page.keyboard.press('Escape')
  await page.getByRole('dialog', { name: 'Discard the changes?' }).waitFor()
  await tabTo(page, 'button', 'Discard changes')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').first().waitFor({ state: 'detached' })
  await assertFocused(page, role, name)
}

/** Types in a combobox that has the focus, and takes the first choice. */
export async function choose(page: Page, text: string, option: Name): Promise<void> {
  await page.keyboard.type(text)
  // Until the server has found it, another choice can be the first.
  const options = page.getByRole('option')
  await options
    .first()
    .and(page.getByRole('option', { name: option }))
    .waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('option').first().waitFor({ state: 'detached' })
}

/** Replaces the text of the field that has the focus. */
export async function retype(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
}

const named = (page: Page, role: Role, name: Name, includeHidden = false): Locator =>
  page.getByRole(role, { name, includeHidden, exact: typeof name === 'string' })

const hasFocus = async (page: Page, role: Role, name: Name): Promise<boolean> =>
  (await named(page, role, name).and(page.locator(':focus')).count()) > 0

const isFocusInDialog = async (page: Page): Promise<boolean> =>
  (await page.getByRole('dialog').locator(':scope:focus, :focus').count()) > 0

/** What assistive technology reads of the focused element. */
async function focused(page: Page): Promise<string> {
  const element = page.locator(':focus')
  if ((await element.count()) === 0) return 'the body'
  return ((await element.first().ariaSnapshot()).split('\n')[0] ?? '').slice(0, 120)
}

/** Fails if no element has the focus, or the user cannot see which one. */
async function assertFocusShown(page: Page, stops: readonly string[] = []): Promise<void> {
  let problem = await page.evaluate<string>(FOCUS_PROBLEM)
  // Scrolling and animations need a moment.
  for (const deadline = Date.now() + PATIENCE_MS; problem !== '' && Date.now() < deadline; ) {
    await pause(WAIT_STEP_MS)
    problem = await page.evaluate<string>(FOCUS_PROBLEM)
  }
  if (problem !== '') assert.fail(`${problem}: ${await focused(page)}. Stops before:\n${stops.join('\n')}`)
}

/** An expression: what is wrong with the focus, or an empty text. A hidden input is shown by its label. */
const FOCUS_PROBLEM = `(() => {
  const element = document.activeElement
  if (element === null || element === document.body) return 'no element has the focus'
  const shown = element.closest('label') ?? element
  const { left, right, top, bottom, width, height } = shown.getBoundingClientRect()
  const [x, y] = [(Math.max(left, 0) + Math.min(right, innerWidth)) / 2, (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2]
  if (width === 0 || height === 0 || bottom <= 0 || right <= 0 || top >= innerHeight || left >= innerWidth)
    return 'the focus is out of view'
  // Headings and dialogs have the focus for what is read, and are no controls.
  if (element.matches('h1, h2, [role="dialog"], main')) return ''
  const hit = document.elementFromPoint(x, y)
  if (hit !== null && !shown.contains(hit) && !hit.contains(shown)) return 'the focus is covered'
  const marked = [element, ...shown.querySelectorAll('*')]
  for (let parent = element.parentElement, up = 0; parent !== null && up < 3; parent = parent.parentElement, up++) marked.push(parent)
  const isMarked = marked.some((one) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one)
    return (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none'
  })
  return isMarked ? '' : 'the focus is not visible'
})()`
