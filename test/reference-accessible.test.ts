import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { signedInPage, startBrowser, waitUntil, withoutBrowser } from './support/browser/chromium.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { assertAccessible } from './support/signin/axe.ts'

/** The API reference for everyone, and its examples for the signed-in user. */

describe('the API reference', { skip: withoutBrowser }, () => {
  let berth: TestBerth
  let chromium: Browser
  let page: Page
  before(async () => {
    berth = await startTestBerth({ name: 'sqlite', open: undefined })
    chromium = await startBrowser()
    page = (await signedInPage(chromium, berth)).page
    await load(page)
  })
  after(async () => {
    await chromium?.close()
    await berth?.stop()
  })

  /** Reading the description takes the page more than a second: the tests of one user share it. */
  const load = async (on: Page, fragment = '') => {
    await on.goto(`${berth.url}/docs${fragment}`)
    await on.waitForSelector('.opblock-tag-section')
  }

  /** Opens an operation, and closes the one that is open. */
  const open = async (tag: string, id: string) => {
    await page.setViewportSize({ width: 1280, height: 800 })
    for (const other of await page.locator('.opblock.is-open .opblock-summary-control').all())
      await other.click()
    const operation = page.locator(`#operations-${tag}-${id}`)
    if (!(await operation.isVisible())) await page.locator(`#operations-tag-${tag}`).click()
    await operation.locator('.opblock-summary-control').click()
    await operation.locator('.responses-wrapper').waitFor()
    const start = operation.locator('.try-out__btn:not(.cancel)')
    if (await start.isVisible()) await start.click()
  }

  test('the list passes axe, and the form for the token', async () => {
    await assertAccessible(page, 'docs')
    await page.locator('.scheme-container .authorize').click()
    await page.waitForSelector('.modal-ux')
    await assertAccessible(page, 'docs token')
    await page.locator('.close-modal').click()
  })

  for (const id of ['ListGroups', 'CreateGroup'])
    test(`the operation Groups/${id} passes axe with a response`, async () => {
      await open('Groups', id)
      await page.locator('.is-open .execute').click()
      await page.waitForSelector('.live-responses-table tbody .response-col_status')
      await assertAccessible(page, `docs Groups/${id}`, '.is-open')
    })

  test('the schema of a body has the members with their texts, and passes axe', async () => {
    await open('Repos', 'UpdateRepo')
    const body = page.locator('.is-open .opblock-section-request-body')
    await page.locator('.is-open .try-out__btn.cancel').click()
    await body.getByText('Schema', { exact: true }).click()
    const name = body
      .locator('.model tr')
      .filter({ has: page.locator('td:first-child', { hasText: /^name$/ }) })
    assert.match(
      (await name.textContent()) ?? '',
      /^namestringpattern: .*maxLength: 1024nullable: trueName, matching .* Unique in the group\.$/,
    )
    await assertAccessible(page, 'docs Repos/UpdateRepo schema', '.is-open .opblock-section-request-body')
  })

  test('its examples are for the group that the signed-in user chooses, except those of deletions', async () => {
    await open('Groups', 'CreateGroup')
    assert.equal(await page.locator('#group option:checked').textContent(), 'default')
    const parent = page.locator('.is-open tr[data-param-name="uid"] input')
    assert.equal(await parent.inputValue(), berth.organization)
    await open('Groups', 'DeleteGroup')
    const uid = await page.locator('.is-open tr[data-param-name="uid"] input').inputValue()
    assert.ok(!uid.startsWith(berth.organization), uid)
  })

  test('anyone else enters the uid of a group; an invalid one changes nothing', async () => {
    const guest = await (await chromium.newContext()).newPage()
    await load(guest, '#/Groups/CreateGroup')
    await guest.waitForSelector('.is-open .responses-wrapper')
    const isFilled = (uid: string) => `document.querySelector('.is-open')?.textContent.includes('${uid}')`
    const group = `${'a'.repeat(40)}/${'b'.repeat(16)}`
    await guest.fill('#group', 'my-org')
    await guest.keyboard.press('Tab')
    assert.equal(await guest.evaluate('document.getElementById("group").validity.valid'), false)
    assert.equal(await guest.evaluate(isFilled('my-org')), false)
    await guest.fill('#group', group)
    await guest.keyboard.press('Tab')
    await waitUntil(guest, isFilled(group))
    await guest.context().close()
  })
})
