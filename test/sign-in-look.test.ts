import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { startBrowser, withoutBrowser } from './support/signin/chromium.ts'
import { PASSWORD, setupPath } from './support/signin/local-accounts.ts'

/** How the pages of the sign-in look and are read out. */

const [database] = databases
if (database === undefined) throw new Error('no database')
const shortcomings = readFileSync(new URL('./support/signin/page-problems.js', import.meta.url), 'utf8')

describe('the look of the sign-in pages', { skip: withoutBrowser }, () => {
  let berth: TestBerth
  let chromium: Browser
  let page: Page
  /** What the browser refused or failed at. */
  const complaints: string[] = []

  before(async () => {
    berth = await startTestBerth(database)
    chromium = await startBrowser()
    page = await chromium.newPage()
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      if (/Content.Security.Policy|Refused/i.test(message.text())) complaints.push(message.text())
    })
  })
  after(async () => {
    await chromium?.close()
    await berth?.stop()
  })

  test('the printed link creates the owner account, with the keyboard only', async () => {
    await page.goto(berth.url + (await setupPath(berth)))
    await page.keyboard.type('Ada Lovelace')
    for (const text of ['ada@example.com', PASSWORD]) {
      await page.keyboard.press('Tab')
      await page.keyboard.type(text)
    }
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/\?done=setup/)
    assert.match((await page.textContent('main')) ?? '', /You own the first organization/)
    assert.deepEqual(complaints, [])
  })

  test('every input has a label, every page has one heading and a language, and text has enough contrast', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const path of [
        '/account',
        '/account/delete',
        '/sign-in?again',
        '/device',
        '/invite',
        '/sign-in/none',
      ]) {
        await page.goto(berth.url + path)
        assert.deepEqual(await page.evaluate(shortcomings), [], `${path}, ${colorScheme}`)
      }
    }
    await page.setViewportSize({ width: 320, height: 600 })
    for (const path of ['/account', '/sign-in?again']) {
      await page.goto(berth.url + path)
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')
      assert.ok(overflow <= 0, `${path} is ${overflow} pixels too wide for a small phone`)
    }
    assert.deepEqual(complaints, [])
  })
})
