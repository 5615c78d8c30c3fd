import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { newName } from '../support/api/api-fixture.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { MARKUP, OVERRIDE } from '../support/console/hostile.ts'
import { assertFocused } from '../support/console/keyboard.ts'
import { bearerOf, ociClient, pushImage, testImage } from '../support/registry/registry.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** The search of the console: results by kind, recent places, pages and actions, with the keyboard only. */

const HOSTILE = `${MARKUP} ${OVERRIDE} \u2066`

consoleSuite('search in the console', (cast) => {
  const newTree = async () => {
    const organization = await cast().organization()
    const mark = newName('m').replace('-', '')
    const { admin, berth } = cast()
    const folder = (await admin.create(`iam/groups/${organization.uid}`, { name: `${mark}-team` })).uid
    const repo = (
      await admin.create(`registry/repos/${folder}`, { name: `web-${mark}`, description: HOSTILE })
    ).uid
    const image = testImage()
    const path = `${organization.name}/${mark}-team/web-${mark}`
    const claimMatch = { issuer: 'https://a.example', subject: mark }
    const { uid: pusher } = await admin.create(`iam/identities/${folder}`, { name: `ci-${mark}`, claimMatch })
    const roles = await admin.get('iam/roles', { name: 'registry.push' })
    await admin.create(`iam/roleBindings/${folder}`, {
      identityUid: pusher,
      roleUid: roles.body.roles[0].uid,
    })
    await pushImage(ociClient(berth, await bearerOf(berth, pusher)), path, image, '1.2')
    return { organization, mark, folder, repo, image, path }
  }
  /** Waits for the focus as well: what is typed before is lost. */
  const openSearch = async (page: Page, key = 'Control+k') => {
    await page.keyboard.press(key)
    await assertFocused(page, 'searchbox', /^Search by name/)
  }
  const type = async (page: Page, text: string) => {
    await openSearch(page)
    await page.keyboard.type(text)
  }
  const option = (page: Page, name: string) => page.getByRole('option', { name })

  test('results are grouped by kind and open with the keyboard only', async () => {
    const { organization, mark, repo, image, path } = await newTree()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open('', 'Home')
    await type(page, mark)
    for (const kind of ['Folders', 'Repositories', 'Identities'])
      await page.getByRole('group', { name: kind }).waitFor()
    await page.getByText(HOSTILE).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    for (const [text, name, address] of [
      [`web-${mark}`, path, `/repos/${repo}`],
      [repo, path, `/repos/${repo}`],
      [`web-${mark}:1.2`, `${path}:1.2`, '/tags/'],
      [image.digest.slice(0, 20), `${path}@${image.digest}`, `/manifests/${repo}/${image.digest}`],
    ] as const) {
      await type(page, text)
      await option(page, name).first().waitFor()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await page.waitForURL((url) => url.pathname.startsWith(`/console${address}`))
    }
    // The best match, without choosing it.
    await type(page, `${mark}-team`)
    await option(page, `${organization.name}/${mark}-team`).first().waitFor()
    await page.getByText(/\d found/).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: `${mark}-team` }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('it opens with / except where text is typed, and Escape returns the focus', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/folders/${organization.uid}`, organization.name)
    const button = page.getByRole('button', { name: 'Create a folder' })
    await button.focus()
    await openSearch(page, '/')
    assert.equal(await page.getByRole('dialog').getByRole('searchbox').inputValue(), '')
    await page.keyboard.type('x')
    await page.getByText('Type at least 2 characters.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    // The focus returns with the next frame.
    await button.and(page.locator(':focus')).waitFor()
    await button.click()
    await page.getByRole('textbox', { name: 'Name' }).fill('a')
    await page.keyboard.type('/')
    assert.equal(await page.getByRole('searchbox').count(), 0)
    assert.deepEqual(problems, [])
  })

  test('it shows recent places, pages and actions', async () => {
    const { organization, mark, folder } = await newTree()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/folders/${folder}`, `${mark}-team`)
    await open(`/folders/${organization.uid}`, organization.name)
    await openSearch(page)
    const recent = page.getByRole('group', { name: 'Recent' }).getByRole('option')
    await recent.first().waitFor()
    assert.deepEqual(await recent.locator('span').first().textContent(), organization.name)
    assert.equal(await recent.count(), 2)
    await page.keyboard.type('settings')
    await option(page, 'Organization settings').waitFor()
    await page.getByText('Nothing found that you can see.').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.pathname === `/console/settings/${organization.uid}`)
    await type(page, 'openssl')
    await option(page, 'Search advisories for openssl').click()
    await page.waitForURL((url) => url.pathname === '/console/advisories')
    assert.equal(new URL(page.url()).searchParams.get('query'), 'openssl')
    await type(page, `${mark}-team`)
    await option(page, `Show audit events of ${organization.name}/${mark}-team`).click()
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor()
    await page.getByText(/created the folder/).waitFor()
    assert.deepEqual(problems, [])
  })

  test('a member of a folder finds nothing beside it, and knows its whole path', async () => {
    const { organization, mark, folder, path } = await newTree()
    const { admin } = cast()
    const secret = (await admin.create(`iam/groups/${organization.uid}`, { name: `${mark}-secret` })).uid
    const { page, problems, open } = await cast().signIn('viewer', folder)
    await open(`/folders/${folder}`, `${mark}-team`)
    const breadcrumbs = page.getByRole('navigation', { name: 'Breadcrumbs' })
    await breadcrumbs.getByText(organization.name).waitFor()
    assert.equal(await breadcrumbs.getByRole('link', { name: organization.name }).count(), 0)
    await page.getByText(`berth iam folders list ${organization.name}/${mark}-team`).waitFor()
    await type(page, mark)
    await option(page, path).waitFor()
    assert.equal(await page.getByText(`${mark}-secret`).count(), 0)
    await page.keyboard.press('Escape')
    await type(page, secret)
    await page.getByText('Nothing found that you can see.').waitFor()
    assert.deepEqual(problems, [])
  })

  test('the search passes axe', async () => {
    const { organization, mark } = await newTree()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open('', 'Home')
    await openSearch(page)
    await option(page, 'Audit log').waitFor()
    await assertAccessible(page, 'search empty')
    await page.keyboard.type(mark)
    await page.getByText(/\d found/).waitFor()
    await assertAccessible(page, 'search results')
    assert.deepEqual(problems, [])
  })
})
