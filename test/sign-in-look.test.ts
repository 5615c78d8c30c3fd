import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { startBrowser, withoutBrowser } from './support/browser/chromium.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
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
    // Keys before the page has its focus are lost.
    await page.waitForSelector('input:focus')
    await page.keyboard.type('Ada Lovelace')
    for (const text of ['ada@example.com', PASSWORD]) {
      await page.keyboard.press('Tab')
      await page.keyboard.type(text)
    }
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/\?done=setup/)
    await page.getByText('You own the first organization').waitFor()
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

  test('a rejected form marks and focuses the field in error, and keeps what other fields contain', async () => {
    await page.goto(`${berth.url}/sign-in?again`)
    await page.fill('#email', 'ada@example.com')
    await page.fill('#password', 'not the password')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#password[aria-invalid="true"]:focus')
    assert.equal(await page.inputValue('#email'), 'ada@example.com')
    assert.equal(await page.inputValue('#password'), '')
    const description = (await page.getAttribute('#password', 'aria-describedby')) ?? ''
    assert.equal(await page.textContent(`#${description}`), 'Incorrect email or password.')
    assert.equal(await page.getAttribute('#email', 'aria-invalid'), null)
    assert.deepEqual(complaints, [])
  })

  test('a password can be shown, and is hidden again before the form is sent', async () => {
    await page.goto(`${berth.url}/account`)
    await page.getByText('Change your password').click()
    await page.fill('#current', 'one')
    await page.fill('#password', 'two')
    const typeOf = (id: string) => page.getAttribute(`#${id}`, 'type')
    await page.getByRole('button', { name: 'Show new password' }).click()
    assert.deepEqual([await typeOf('current'), await typeOf('password')], ['password', 'text'])
    await page.getByRole('button', { name: 'Hide new password' }).click()
    assert.equal(await typeOf('password'), 'password')
    await page.getByRole('button', { name: 'Show current password' }).click()
    await page.evaluate(
      `document.querySelector('form[action="/account/password"]').addEventListener('submit', (event) => event.preventDefault())`,
    )
    await page.evaluate(
      `document.querySelector('form[action="/account/password"]').dispatchEvent(new Event('submit'))`,
    )
    assert.equal(await typeOf('current'), 'password')
    assert.deepEqual(complaints, [])
  })

  test('without scripts, passwords are not shown and the sign-in works', async () => {
    const context = await chromium.newContext({ javaScriptEnabled: false })
    try {
      const plain = await context.newPage()
      await plain.goto(`${berth.url}/`)
      assert.equal(await plain.locator('button[data-reveals]').isVisible(), false)
      await plain.fill('#email', 'ada@example.com')
      await plain.fill('#password', PASSWORD)
      await plain.keyboard.press('Enter')
      await plain.getByRole('link', { name: 'First steps' }).click()
      await plain.waitForSelector('text=Welcome, Ada Lovelace')
    } finally {
      await context.close()
    }
  })
})
