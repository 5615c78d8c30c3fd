import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { signedInPage, startBrowser, withoutBrowser } from './support/browser/chromium.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { CLIENT, codeFlow, postForm, tokenRequest, withQuery } from './support/signin/oauth.ts'

/** The pages of the flows in a real browser, which keeps to their policy. `BERTH_TEST_SCREENSHOTS` names a directory for pictures. */

const looks: Readonly<Record<string, BrowserContextOptions>> = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 900 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 900 } },
  phone: { colorScheme: 'light', viewport: { width: 375, height: 740 }, isMobile: true },
}

describe('flows in Chromium', { skip: withoutBrowser }, () => {
  let berth: TestBerth
  let chromium: Browser
  let redirect: string
  /** What reached the client. */
  const answers: URL[] = []
  const client = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://127.0.0.1')
    if (url.pathname === '/callback') answers.push(url)
    response.setHeader('content-type', 'text/plain').end('the client has it')
  })
  before(async () => {
    berth = await startTestBerth({ name: 'sqlite', open: undefined })
    chromium = await startBrowser()
    client.listen(0, '127.0.0.1')
    await once(client, 'listening')
    redirect = `http://127.0.0.1:${(client.address() as AddressInfo).port}/callback`
  })
  after(async () => {
    await chromium.close()
    client.closeAllConnections()
    client.close()
    await berth.stop()
  })

  const signedIn = (options?: BrowserContextOptions) => signedInPage(chromium, berth, options)
  const picture = async (page: Page, name: string) => {
    const directory = process.env['BERTH_TEST_SCREENSHOTS']
    if (directory !== undefined) await page.screenshot({ path: `${directory}/${name}.png`, fullPage: true })
    const tooWide = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    assert.ok(tooWide <= 0, `${name} is ${tooWide} pixels too wide`)
  }

  for (const [look, options] of Object.entries(looks))
    test(`the consent redirects to the client, ${look}: the policy of the page allows it`, async () => {
      const { page, problems } = await signedIn(options)
      const flow = codeFlow({ redirect_uri: redirect })
      await page.goto(berth.url + withQuery('/oauth/authorize', flow.parameters))
      await picture(page, `consent-${look}`)
      await page.getByRole('button', { name: 'Allow' }).click()
      await page.getByText('the client has it').waitFor()
      const code = answers.at(-1)?.searchParams.get('code') ?? ''
      const fields = { ...tokenRequest(flow, code), redirect_uri: redirect }
      assert.equal((await postForm(berth.url, '/oauth/token', fields)).status, 200)
      assert.deepEqual(problems, [])
      await page.context().close()
    })

  test('the SDK gets its token in the same way', async () => {
    const { page, problems } = await signedIn()
    await page.goto(berth.url + withQuery('/oauth', { redirect: `${redirect}?token=true&error=true` }))
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('the client has it').waitFor()
    assert.deepEqual([...(answers.at(-1)?.searchParams.keys() ?? [])], ['token'])
    assert.deepEqual(problems, [])
    await page.context().close()
  })

  for (const [look, options] of Object.entries(looks))
    test(`R36: a device is connected by entering its code and confirming it, ${look}`, async () => {
      const { page, problems } = await signedIn(options)
      const { body } = await postForm(berth.url, '/oauth/device_authorization', { client_id: CLIENT })
      await page.goto(`${berth.url}/device`)
      await picture(page, `device-code-${look}`)
      await page.getByLabel('Code').fill(String(body['user_code']))
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByText(String(body['user_code'])).waitFor()
      await picture(page, `device-consent-${look}`)
      await page.getByRole('button', { name: 'Allow' }).click()
      await page.getByText('Device connected').waitFor()
      await picture(page, `device-done-${look}`)
      assert.deepEqual(problems, [])
      await page.context().close()
    })
})
