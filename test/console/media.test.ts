import assert from 'node:assert/strict'
import { test } from 'node:test'
import { managedRole, newName } from '../support/api/api-fixture.ts'
import { DRAWN_MS, openConsole } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** The console as users have set up their systems: time zone, reduced motion, high contrast, and on paper. */

const DAY_MS = 24 * 60 * 60 * 1000

const RUNNING = `document.getAnimations().filter(({ playState }) => playState === 'running').length`
/** Transitions and animations of any element that would move something. */
const MOVING = `[...document.querySelectorAll('*')].filter((element) => {
  const { transitionDuration, transitionProperty, animationName, animationDuration } = getComputedStyle(element)
  const lasts = (value) => value.split(',').some((one) => parseFloat(one) > 0)
  return (lasts(transitionDuration) && transitionProperty !== 'none') || (animationName !== 'none' && lasts(animationDuration))
}).map(({ tagName, className }) => tagName + ' ' + className)`

consoleSuite('the console in the settings of its user', (cast) => {
  const ownerOf = async (uid: string) => {
    const { admin, berth } = cast()
    const identity = await createPerson(berth, { email: `${newName('ada')}@example.com` })
    await admin.create(`iam/roleBindings/${uid}`, { identityUid: identity, roleUid: managedRole('owner') })
    return identity
  }

  test('times are in the zone of the browser, and the audit log says which', async () => {
    const organization = await cast().organization()
    const { uid, createTime } = await cast().admin.create(`registry/repos/${organization.uid}`, {
      name: 'app',
    })
    const identity = await ownerOf(organization.uid)
    for (const timezoneId of ['Asia/Tokyo', 'America/New_York']) {
      const { page, problems, open } = await openConsole(cast().chromium, cast().berth, identity, {
        timezoneId,
      })
      const format = (options: Intl.DateTimeFormatOptions) =>
        new Intl.DateTimeFormat('en', { ...options, timeZone: timezoneId }).format(new Date(createTime))
      await open(`/folders/${organization.uid}?tab=repositories`, organization.name)
      const time = page.getByRole('row', { name: /app/ }).locator(`time[datetime="${createTime}"]`).first()
      assert.equal(await time.getAttribute('title'), format({ dateStyle: 'full', timeStyle: 'long' }))
      await open(`/repos/${uid}?tab=settings`, 'app')
      const created = page.getByRole('main').locator(`time[datetime="${createTime}"]`).first()
      assert.equal(await created.textContent(), format({ dateStyle: 'medium', timeStyle: 'short' }))
      await open(`/folders/${organization.uid}?tab=audit`, organization.name)
      await page.getByText(`Times are in ${timezoneId}.`).waitFor()
      await page.getByRole('grid', { name: 'Events' }).waitFor()
      assert.deepEqual(problems, [])
      await page.context().close()
    }
  })

  test('the page links an icon that exists', async () => {
    const organization = await cast().organization()
    const { page, open } = await openConsole(cast().chromium, cast().berth, await ownerOf(organization.uid))
    await open(`/folders/${organization.uid}`, organization.name)
    const icon = await page.locator('link[rel=icon]').getAttribute('href')
    const response = await fetch(new URL(icon ?? '', cast().berth.url))
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type') ?? '', /^image\//)
    await page.context().close()
  })

  test('with reduced motion, nothing moves', async () => {
    const organization = await cast().organization()
    const identity = await ownerOf(organization.uid)
    const { page, problems, open } = await openConsole(cast().chromium, cast().berth, identity, {
      reducedMotion: 'reduce',
    })
    const assertStill = async (what: string) => {
      assert.equal(await page.evaluate(RUNNING), 0, what)
      assert.deepEqual(await page.evaluate(MOVING), [], what)
    }
    for (const tab of [
      'folders',
      'repositories',
      'people',
      'roles',
      'pull-policies',
      'advisories',
      'audit',
      'settings',
    ]) {
      await open(`/folders/${organization.uid}?tab=${tab}`, organization.name)
      await assertStill(tab)
    }
    await open(`/folders/${organization.uid}?tab=audit`, organization.name)
    await page.getByText('Follow live').click()
    await page.getByText('Reads new events every 3 seconds.').waitFor()
    await assertStill('a switch')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').waitFor()
    await assertStill('the search')
    await open(`/folders/${organization.uid}?tab=advisories&section=publication`, organization.name)
    await page.getByText(/^Security database/).click()
    await assertStill('a fold')
    assert.deepEqual(problems, [])
  })

  test('on a narrow screen the tab that is open is in view, and the page stays where it is scrolled', async () => {
    const organization = await cast().organization()
    const identity = await ownerOf(organization.uid)
    const { page, problems, open } = await openConsole(cast().chromium, cast().berth, identity)
    await page.setViewportSize({ width: 375, height: 500 })
    await open(`/folders/${organization.uid}?tab=settings`, organization.name)
    const tab = page.getByRole('tab', { name: 'Settings' })
    await page
      .getByRole('heading', { name: 'Delete the organization' })
      .or(page.getByText('Created'))
      .first()
      .waitFor()
    const box = await tab.boundingBox()
    assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 375, JSON.stringify(box))
    const scrolled = () => page.evaluate<number>('scrollY')
    await page.evaluate('scrollTo(0, 1e6)')
    const before = await scrolled()
    assert.ok(before > 0)
    // A return to the page reads everything again; the console listens at the window.
    const read = page.waitForResponse((response) => response.url().includes('/iam/v2beta1/groups'))
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))")
    await (await read).finished()
    await page.waitForTimeout(DRAWN_MS)
    assert.equal(await scrolled(), before)
    assert.deepEqual(problems, [])
  })

  test('with forced colors, the focus and the current tab are visible', async () => {
    const organization = await cast().organization()
    const identity = await ownerOf(organization.uid)
    const { page, problems, open } = await openConsole(cast().chromium, cast().berth, identity, {
      forcedColors: 'active',
    })
    await open(`/folders/${organization.uid}?tab=repositories`, organization.name)
    await page.getByRole('tab', { name: 'Repositories' }).focus()
    await page.keyboard.press('ArrowRight')
    const outline = await page.evaluate<{ style: string; width: string }>(
      `(({ outlineStyle: style, outlineWidth: width }) => ({ style, width }))(getComputedStyle(document.activeElement))`,
    )
    assert.deepEqual(outline, { style: 'solid', width: '3px' })
    assert.deepEqual(problems, [])
  })

  test('on paper, a chart has its table and no buttons', async () => {
    const organization = await cast().organization()
    await cast().admin.create(`registry/repos/${organization.uid}`, { name: 'app' })
    const { db, clock } = cast().berth.berth.installation.store
    const today = Math.floor(clock() / DAY_MS)
    const levels = { stored_bytes: 1000, manifests: 4, tags: 2, repos: 1, pulls: 10, pushes: 3 }
    await db.kysely
      .insertInto('usage_days')
      .values([3, 2, 1].map((ago) => ({ root: organization.uid, day: today - ago, ...levels })))
      .execute()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/settings/${organization.uid}`, `Settings of ${organization.name}`)
    const chart = page.locator('.chart').first()
    await chart.waitFor()
    const table = chart.locator('table')
    const widthOf = async () => (await table.boundingBox())?.width ?? 0
    const button = chart.getByRole('button').first()
    await button.waitFor()
    await page.emulateMedia({ media: 'print' })
    assert.equal(await button.isVisible(), false)
    assert.ok((await widthOf()) > 100, 'the table is printed')
    assert.deepEqual(problems, [])
  })
})
