import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { describeServedApi } from './support/api/openapi.ts'
import { call } from './support/api/rest.ts'
import { startBrowser, waitUntil, withoutBrowser } from './support/browser/chromium.ts'
import { eventually } from './support/eventually.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

const BACKGROUND = 'getComputedStyle(document.body).backgroundColor'

const { document } = describeServedApi('http://127.0.0.1', '0')

describe('/docs', () => {
  let berth: TestBerth
  before(async () => {
    berth = await startTestBerth({ name: 'sqlite', open: undefined })
  })
  after(() => berth.stop())

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(berth.url + path, { headers, redirect: 'manual' })

  /** The addresses in the page. */
  const linked = async () =>
    [...(await (await get('/docs')).text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)

  test('is a page that may load and call nothing but its own server', async () => {
    const reply = await get('/docs')
    assert.equal(reply.status, 200)
    assert.equal(reply.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal(
      reply.headers.get('content-security-policy'),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(reply.headers.get('referrer-policy'), 'no-referrer')
    const html = await reply.text()
    assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=|javascript:|https?:/)
    assert.match(html, /<title>Berth API reference<\/title>/)
    assert.match(html, /<noscript>.*<a href="\/openapi.json">.*<\/noscript>/s)
  })

  test('its files may be kept for ever, and change their address when they change', async () => {
    const files = (await linked()).filter((path) => path.startsWith('/docs/'))
    assert.ok(files.length >= 5, files.join())
    for (const path of files) {
      const reply = await get(path)
      assert.equal(reply.status, 200, path)
      assert.equal(reply.headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert.equal(reply.headers.get('x-content-type-options'), 'nosniff')
      assert.equal(reply.headers.get('content-encoding'), 'gzip')
      const etag = reply.headers.get('etag') ?? ''
      assert.equal((await get(path, { 'if-none-match': etag })).status, 304)
      const [, , revision = ''] = path.split('/')
      assert.match(revision, /^[\d.]+-[0-9a-f]{8}$/)
      assert.equal((await get(path.replace(revision, '0'))).status, 404)
    }
  })

  test('serves those files only, whatever a path looks like', async () => {
    const [revision] = (await linked()).map((path) => path.split('/')[2]).filter((name) => name !== undefined)
    const tries = [
      'package.json',
      'swagger-initializer.js',
      '../../../package.json',
      '..%2f..%2fpackage.json',
      '',
    ]
    for (const name of [...tries, 'toString', '__proto__'])
      assert.equal((await get(`/docs/${revision}/${name}`)).status, 404, name)
    assert.equal((await get('/docs/__proto__')).status, 404)
    const home = await get('/docs/')
    assert.deepEqual([home.status, home.headers.get('location')], [308, '/docs'])
    assert.equal((await fetch(`${berth.url}/docs`, { method: 'POST' })).status, 405)
  })

  describe('in a browser', { skip: withoutBrowser }, () => {
    let browser: Browser
    /** Of a wide screen. Reading the description takes a page several seconds: two tests share this one. */
    let shared: Visit
    before(async () => {
      browser = await startBrowser()
      shared = await visit({ viewport: { width: 1280, height: 900 } })
    })
    after(() => browser.close())

    interface Visit {
      readonly page: Page
      /** Fails if the page complained of anything or asked anybody else. */
      assertQuiet(): void
    }

    const visit = async (look: BrowserContextOptions, at = '/docs'): Promise<Visit> => {
      const context = await browser.newContext(look)
      const complaints: string[] = []
      const foreign: string[] = []
      context.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
      context.on('weberror', (error) => complaints.push(String(error.error())))
      context.on('request', (request) => {
        const { origin, protocol } = new URL(request.url())
        if (origin !== berth.url && protocol !== 'data:') foreign.push(request.url())
      })
      const page = await context.newPage()
      await page.goto(berth.url + at)
      await page.waitForSelector('.opblock-tag-section')
      return {
        page,
        assertQuiet: () => assert.deepEqual({ complaints, foreign }, { complaints: [], foreign: [] }),
      }
    }
    const narrow = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }
    const overflow = (page: Page) =>
      page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')

    test('shows every operation', async () => {
      const { page, assertQuiet } = shared
      assert.equal(await page.title(), 'Berth API reference')
      const tags = page.locator('.opblock-tag')
      assert.equal(await tags.count(), document.tags.length)
      const operations = Object.values(document.paths).flatMap((item) => Object.values(item))
      for (const [index, { name }] of document.tags.entries()) {
        await tags.nth(index).click()
        const count = operations.filter((operation) => operation.tags.includes(name)).length
        await waitUntil(page, `document.querySelectorAll('.opblock').length === ${count}`)
        assert.equal(await overflow(page), 0)
        // One at a time: from 150 tags and open operations on, the renderer keeps only those in view in the page.
        await tags.nth(index).click()
        await waitUntil(page, `document.querySelectorAll('.opblock').length === 0`)
      }
      assertQuiet()
    })

    test('calls the server with the token that its reader enters', async () => {
      const parent = `${berth.url}/iam/v2beta1/groups/${berth.organization}`
      const { body: group } = await call('POST', parent, { token: berth.token, body: { name: 'quay' } })
      const { page, assertQuiet } = shared
      await page.locator('.scheme-container .authorize').click()
      await page.locator('#auth-bearer-value').first().fill(berth.token)
      await page.locator('.auth-container').first().locator('button.authorize').click()
      await page.locator('.close-modal').click()

      await page.locator('#operations-tag-Groups').click()
      const operation = page.locator('#operations-Groups-GetGroup')
      await operation.locator('.opblock-summary-control').click()
      await operation.locator('.try-out__btn').click()
      // Its slash goes out escaped.
      await operation.locator('tr[data-param-name="uid"] input').fill(group.uid)
      await operation.locator('.execute').click()
      const status = operation.locator('.live-responses-table .response-col_status').last()
      await status.waitFor()
      assert.equal((await status.innerText()).trim().split('\n')[0], '200')
      const body = await operation.locator('.live-responses-table .highlight-code').innerText()
      assert.match(body, new RegExp(`"uid": "${group.uid}"`))
      assertQuiet()
    })

    test('opens the operation that its address names, and fits a phone, light and dark', async () => {
      const { page, assertQuiet } = await visit(narrow, '/docs#/Groups/CreateGroup')
      for (const [tag, id] of [
        ['Groups', 'CreateGroup'],
        ['Identities', 'ListIdentities'],
        ['Repos', 'UpdateRepo'],
      ]) {
        const operation = `#operations-${tag}-${id}`
        // The first one is open: the address names it.
        if (id !== 'CreateGroup') {
          await page.locator(`#operations-tag-${tag}`).click()
          await page.locator(`${operation} .opblock-summary-control`).click()
        }
        await page.waitForSelector(`${operation}.is-open .responses-wrapper`)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          const background = colorScheme === 'dark' ? 'rgb(23, 28, 37)' : 'rgb(255, 255, 255)'
          // The renderer applies the color scheme some time after the call returns.
          await eventually(async () => (await page.evaluate(BACKGROUND)) === background)
          assert.equal(await overflow(page), 0, id)
        }
      }
      assertQuiet()
    })

    test('without JavaScript it leads to the description', async () => {
      const context = await browser.newContext({ javaScriptEnabled: false })
      try {
        const page = await context.newPage()
        await page.goto(`${berth.url}/docs`)
        await page.locator('noscript a, .berth-note a').first().click()
        assert.match(page.url(), /\/openapi\.json$/)
      } finally {
        await context.close()
      }
    })
  })
})
