import type { Page } from 'playwright-core'
import { eventually } from '../eventually.ts'

const LIST_MS = 5000

/**
 * Types a part of a name in a combobox, and clicks the first choice with the given name. On a busy machine the list opens while the dialog still
 * moves, and closes again: then it is opened once more.
 */
export async function chooseInCombobox(
  page: Page,
  label: string,
  text: string,
  option: string | RegExp,
): Promise<void> {
  const field = page.getByRole('combobox', { name: label })
  const choice = page.getByRole('option', { name: option }).first()
  await eventually(async () => {
    await field.fill('')
    await field.fill(text)
    return choice.click({ timeout: LIST_MS }).then(
      () => true,
      () => false,
    )
  })
}
