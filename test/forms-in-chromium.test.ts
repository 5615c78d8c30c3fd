import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { startBrowser, withoutBrowser } from './support/browser/chromium.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { newLocalAccount, PASSWORD, passwordPath } from './support/signin/local-accounts.ts'

/** Forms of the sign-in pages are sent once: the second time, a one-time link is already used. */

const [database] = databases
if (database === undefined) throw new Error('no database')

/** Within it a browser sends the form of a click. */
const SENT_MS = 500

describe('forms of the sign-in pages in a browser', { skip: withoutBrowser }, () => {
  let berth: TestBerth
  let chromium: Browser
  before(async () => {
    berth = await startTestBerth(database)
    chromium = await startBrowser()
  })
  after(async () => {
    await chromium?.close()
    await berth?.stop()
  })

  test('a second click does not send a form again, and the form can be sent again after an error', async () => {
    const page = await (await chromium.newContext()).newPage()
    await page.goto(berth.url + (await passwordPath(berth, await newLocalAccount(berth, 'ada@example.com'))))
    const sent: string[] = []
    const answer = Promise.withResolvers<void>()
    await page.route('**/sign-in/choose-password', async (route) => {
      sent.push(route.request().method())
      await answer.promise
      await route.continue()
    })
    const button = page.getByRole('button', { name: 'Save password' })
    // Locators wait for the page that the first click asks for.
    const { x = 0, y = 0 } = (await button.boundingBox()) ?? {}
    const click = () => page.mouse.click(x + 9, y + 9)
    await page.locator('#password').fill('a'.repeat(PASSWORD.length))
    const request = page.waitForRequest('**/sign-in/choose-password')
    await click()
    await request
    await click()
    await page.waitForTimeout(SENT_MS)
    answer.resolve()
    await page.locator('[aria-invalid="true"]').waitFor()
    assert.deepEqual(sent, ['POST'])

    await page.locator('#password').fill(PASSWORD)
    await button.dblclick()
    await page.waitForURL(/\/account/)
    assert.deepEqual(sent, ['POST', 'POST'])
  })
})
