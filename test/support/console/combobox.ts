import type { Page } from 'playwright-core'
import { eventually } from '../eventually.ts'

const LIST_MS = 5000
const STANDS_STILL = `(field) =>
  Promise.allSettled((field.closest('.overlay')?.getAnimations({ subtree: true }) ?? []).map(({ finished }) => finished))`

/**
 * Types a part of a name in a combobox, and clicks the first choice with the given name. A list that opens while its dialog still moves closes
 * again, and a click on it then chooses nothing.
 */
export async function chooseInCombobox(
  page: Page,
  label: string,
  text: string,
  option: string | RegExp,
): Promise<void> {
  const field = page.getByRole('combobox', { name: label })
  const choice = page.getByRole('option', { name: option }).first()
  await field.evaluate(STANDS_STILL)
  await eventually(async () => {
    await field.fill('')
    await field.fill(text)
    return choice.click({ timeout: LIST_MS }).then(
      () => true,
      () => false,
    )
  })
}
