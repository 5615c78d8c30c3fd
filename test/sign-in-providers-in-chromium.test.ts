import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import type { Browser } from 'playwright-core'
import { createOrganization, createResource, verifyOrganization } from './support/api/tenant.ts'
import { startBrowser, waitForConsole, withoutBrowser } from './support/browser/chromium.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { codeFlow, withQuery } from './support/signin/oauth.ts'
import {
  startUpstreamProvider,
  UPSTREAM_CLIENT,
  type UpstreamProvider,
} from './support/signin/upstream-provider.ts'

const shortcomings = readFileSync(new URL('./support/signin/page-problems.js', import.meta.url), 'utf8')

/** The way to a provider in a real browser, which applies the policy of a page to where its forms are sent on as well. */

describe('providers in Chromium', { skip: withoutBrowser }, () => {
  const clean = cleanups()
  let berth: TestBerth
  let own: UpstreamProvider
  let chromium: Browser
  before(async () => {
    berth = await startTestBerth({ name: 'sqlite', open: undefined })
    own = await startUpstreamProvider(clean, () => berth.url)
    chromium = await startBrowser()
  })
  after(async () => {
    await chromium.close()
    await berth.stop()
    await clean.run()
  })

  test('entering the name of an organization leads to its provider, and back signed in', async () => {
    const { uid } = await createResource(berth, `/iam/v2beta1/identityProviders/${berth.organization}`, {
      name: 'own',
      defaultRole: managedRoleByName.get('viewer')?.uid,
      oidc: {
        issuer: own.issuer,
        clientId: UPSTREAM_CLIENT.id,
        clientSecret: UPSTREAM_CLIENT.secret,
        additionalScopes: ['email'],
      },
    })
    own.person = { sub: 'ada', email: 'ada@example.com', email_verified: true }
    const page = await chromium.newPage()
    const problems: string[] = []
    page.on(
      'console',
      (message) => message.type() === 'error' && problems.push(`${message.text()} ${message.location().url}`),
    )
    await page.goto(`${berth.url}/sign-in`)
    await page.click('summary')
    await verifyOrganization(berth, berth.organization)
    await page.fill('#organization', 'default')
    await page.click('details button')
    await page.getByRole('link', { name: 'Continue' }).click()
    await waitForConsole(page)
    await page.goto(`${berth.url}/account`)
    assert.match(await page.innerText('main'), /ada@example\.com/)

    // A client requests this provider, and the user wants to sign in there as another user.
    await page.context().clearCookies({ name: /^_/ }) // those of the provider
    own.person = { sub: 'bob', email: 'bob@example.com', email_verified: true }
    await page.goto(berth.url + withQuery('/oauth/authorize', { ...codeFlow().parameters, idp_id: uid }))
    await page.getByText('ada@example.com').waitFor()
    await page.getByRole('button', { name: 'Use another account' }).click()
    await page.getByRole('link', { name: 'Continue' }).click()
    await page.getByText('bob@example.com').waitFor()
    assert.match(page.url(), /\/oauth\/continue\?/)
    assert.deepEqual(problems, [])
  })

  test('R40: a link of another site leads to a confirmation page, readable in light and dark, and only its button continues', async () => {
    const { uid } = await createResource(
      berth,
      `/iam/v2beta1/identityProviders/${await createOrganization(berth, 'acme')}`,
      {
        name: 'okta',
        defaultRole: managedRoleByName.get('viewer')?.uid,
        oidc: { issuer: own.issuer, clientId: UPSTREAM_CLIENT.id, clientSecret: UPSTREAM_CLIENT.secret },
      },
    )
    const link = berth.url + withQuery('/oauth/authorize', { ...codeFlow().parameters, idp_id: uid })
    const elsewhere = createServer((_request, response) =>
      response
        .setHeader('content-type', 'text/html')
        .end(`<a href="${link.replaceAll('&', '&amp;')}">go</a>`),
    )
    elsewhere.listen(0, '127.0.0.1')
    await once(elsewhere, 'listening')
    clean.after(() => void elsewhere.close())
    const { port } = elsewhere.address() as AddressInfo

    own.person = { sub: 'eve', email: 'eve@example.com', email_verified: true }
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await (await chromium.newContext({ colorScheme })).newPage()
      const problems: string[] = []
      page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
      // A site of another name, as browsers see it.
      await page.goto(`http://localhost:${port}/`)
      await page.click('a')
      await page.getByRole('heading', { name: 'Sign in to acme with okta?' }).waitFor()
      assert.equal(new URL(page.url()).origin, berth.url)
      assert.deepEqual(await page.evaluate(shortcomings), [])
      if (process.env['BERTH_TEST_SCREENSHOTS'])
        await page.screenshot({ path: join(process.env['BERTH_TEST_SCREENSHOTS'], `ask-${colorScheme}.png`) })
      await page.getByRole('link', { name: 'Continue' }).click()
      await page.waitForURL(/\/oauth\/continue\?/)
      assert.deepEqual(problems, [])
    }
  })
})
