import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { signInApp } from '@berth/server/signin/app.ts'
import type { SignInContext } from '@berth/server/signin/context.ts'
import type { Browser, Page } from 'playwright-core'
import { apiOf } from './support/api/api-fixture.ts'
import { signedInPage, startBrowser, withoutBrowser } from './support/browser/chromium.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { insertPasskey } from './support/signin/accounts.ts'
import { assertAccessible } from './support/signin/axe.ts'
import { newLocalAccount, PASSWORD, passwordPath, setupPath } from './support/signin/local-accounts.ts'
import { CLIENT, codeFlow, postForm, withQuery } from './support/signin/oauth.ts'

/** Every page passes axe. A new route needs an entry in `visits`, or in `notPages` with the reason. */

const [database] = databases
if (database === undefined) throw new Error('no database')

const notPages: Readonly<Record<string, string>> = {
  '/console': 'test/console/console-states.test.ts',
  '/console/*': 'test/console/console-states.test.ts',
  '/account/groups': 'JSON for the API reference',
  '/oauth/authorize': 'redirects to the sign-in or the consent',
  '/oauth': 'redirects to the sign-in or the consent',
  '/orgcheck': 'a response for clients',
  '/oauth/callback/:organization/:id': 'as /oauth/callback',
  '/oauth/callback/:name': 'as /oauth/callback',
}

const EMAIL = 'ada@example.com'

describe('accessibility of the pages', { skip: withoutBrowser }, () => {
  let berth: TestBerth
  let chromium: Browser
  let guest: Page
  let owner: Page

  before(async () => {
    berth = await startTestBerth(database)
    chromium = await startBrowser()
    guest = await (await chromium.newContext()).newPage()
    owner = (await signedInPage(chromium, berth)).page
  })
  after(async () => {
    await chromium?.close()
    await berth?.stop()
  })

  const open = (page: Page, path: string) => page.goto(berth.url + path)
  const submit = (page: Page) => page.locator('main form button:not([data-reveals])').first().click()
  const createInvite = async () => {
    const roleUid = managedRoleByName.get('viewer')?.uid
    const path = `iam/groupInvites/${berth.organization}`
    return (await apiOf(berth, berth.token).create(path, { roleUid, ttl: '3600s' }))['code'] as string
  }
  const startDevice = async () =>
    (await postForm(berth.url, '/oauth/device_authorization', { client_id: CLIENT, scope: 'openid' })).body

  /** How to get to each page, by its route and what is special; each returns the page. In this order. */
  const visits: Readonly<Record<string, () => Promise<Page>>> = {
    async '/setup before there is an account'() {
      await open(guest, '/')
      assert.match(guest.url(), /\/setup$/)
      return guest
    },
    async '/setup with the link'() {
      await open(guest, await setupPath(berth))
      return guest
    },
    async '/setup with an error'() {
      for (const [id, value] of Object.entries({ name: 'Ada', email: EMAIL, password: 'aaaaaaaaaaaaaa' }))
        await guest.fill(`#${id}`, value)
      await submit(guest)
      await guest.waitForSelector('[aria-invalid="true"]')
      return guest
    },
    async '/ after the setup'() {
      await guest.fill('#password', PASSWORD)
      await submit(guest)
      await guest.waitForURL(/\?done=setup/)
      await guest.context().clearCookies()
      await open(owner, '/?done=setup')
      await owner.getByText('You own the first organization').waitFor()
      return owner
    },
    async '/start'() {
      await open(owner, '/start?done=setup')
      return owner
    },
    async '/sign-in'() {
      await open(guest, '/')
      assert.match(guest.url(), /\/sign-in$/)
      return guest
    },
    async '/sign-in with an error'() {
      await guest.fill('#email', EMAIL)
      await guest.fill('#password', 'not the password')
      await submit(guest)
      await guest.waitForSelector('[aria-invalid="true"]')
      return guest
    },
    async '/sign-in/provider of no organization'() {
      await open(guest, '/sign-in/provider?organization=nowhere')
      assert.equal(await guest.inputValue('#organization'), 'nowhere')
      return guest
    },
    async '/sign-in/provider of an organization'() {
      const provider = await apiOf(berth, berth.token).create(`iam/identityProviders/${berth.organization}`, {
        name: 'sso',
        oidc: { issuer: 'https://login.example', clientId: 'a', clientSecret: 'b', additionalScopes: [] },
        defaultRole: managedRoleByName.get('viewer')?.uid,
      })
      await open(guest, withQuery('/sign-in/provider', { with: provider['uid'] as string }))
      assert.match((await guest.textContent('h1')) ?? '', /Sign in to default/)
      return guest
    },
    async '/sign-in/test-provider'() {
      const { body } = await apiOf(berth, berth.token).get('iam/identityProviders', { name: 'sso' })
      await open(owner, withQuery('/sign-in/test-provider', { with: body.identityProviders[0].uid }))
      return owner
    },
    async '/sign-in/choose-password'() {
      await open(guest, await passwordPath(berth, await newLocalAccount(berth, 'grace@example.com')))
      return guest
    },
    async '/sign-in/second-factor'() {
      const { kysely } = berth.berth.installation.store.db
      const account = await newLocalAccount(berth, 'mary@example.com')
      await open(guest, await passwordPath(berth, account))
      await guest.fill('#password', PASSWORD)
      await submit(guest)
      await guest.waitForURL(/\/account/)
      await insertPasskey(berth, account.id)
      await kysely.updateTable('accounts').set({ passkey_required: 1 }).where('id', '=', account.id).execute()
      await guest.context().clearCookies()
      await open(guest, '/sign-in')
      await guest.fill('#email', 'mary@example.com')
      await guest.fill('#password', PASSWORD)
      await submit(guest)
      await guest.waitForURL(/second-factor/)
      return guest
    },
    async '/sign-in/forgot-password'() {
      await open(guest, '/sign-in/forgot-password')
      return guest
    },
    async '/sign-in/reset-password'() {
      await open(guest, '/sign-in/reset-password')
      return guest
    },
    async '/invite'() {
      await guest.context().clearCookies()
      await open(guest, '/invite')
      return guest
    },
    async '/invite with a code'() {
      await guest.fill('#code', await createInvite())
      await submit(guest)
      await guest.waitForSelector('button[name="step"]')
      return guest
    },
    async '/sign-in/register'() {
      await submit(guest)
      await guest.getByRole('link', { name: 'Create an account' }).click()
      await guest.waitForURL(/register/)
      return guest
    },
    async '/account'() {
      await open(owner, '/account')
      return openDetails(owner)
    },
    async '/account with an error'() {
      await owner.fill('#name', 'a'.repeat(100))
      await owner.$eval('#name', (input: { removeAttribute(name: string): void; value: string }) => {
        input.removeAttribute('maxlength')
        input.value = 'a'.repeat(101)
      })
      await owner.getByRole('button', { name: 'Save name' }).click()
      await owner.waitForSelector('#name[aria-invalid="true"]:focus')
      assert.equal(await owner.inputValue('#name'), 'a'.repeat(101))
      return owner
    },
    async '/account/delete'() {
      await open(owner, '/account/delete')
      return owner
    },
    async '/device'() {
      await open(owner, '/device')
      return owner
    },
    async '/device with an error'() {
      await owner.fill('#user_code', 'AAAA-AAAA')
      await submit(owner)
      await owner.waitForSelector('[aria-invalid="true"]')
      return owner
    },
    async '/oauth/continue for a device'() {
      await open(owner, `/device?user_code=${(await startDevice())['user_code']}`)
      await submit(owner)
      await owner.waitForURL(/oauth\/continue/)
      return owner
    },
    async '/oauth/continue, the result'() {
      await owner.getByRole('button', { name: 'Allow' }).click()
      await owner.waitForSelector('text=Device connected')
      return owner
    },
    async '/oauth/continue for a client'() {
      await open(owner, withQuery('/oauth/authorize', codeFlow().parameters))
      return owner
    },
    async '/oauth/callback with an error'() {
      await open(guest, '/oauth/callback?state=none')
      return guest
    },
    async 'an unknown page'() {
      assert.equal((await open(guest, '/nowhere'))?.status(), 404)
      return guest
    },
    async 'an unknown page of the sign-in'() {
      assert.equal((await open(owner, '/sign-in/nowhere'))?.status(), 404)
      return owner
    },
    async 'an address of the API'() {
      assert.equal((await open(guest, '/iam/v2beta1/groups'))?.status(), 401)
      return guest
    },
  }

  for (const [name, visit] of Object.entries(visits))
    test(`${name} has no violations of axe and fits a phone`, async () =>
      assertAccessible(await visit(), name))

  test('every route is visited', () => {
    const { store } = berth.berth.installation
    // Only the paths are read; nothing is called.
    const app = signInApp({ store, authUrl: berth.url, audiences: [] } as unknown as SignInContext)
    const paths = new Set(app.routes.filter(({ method }) => method === 'GET').map(({ path }) => path))
    assert.ok(paths.size > 15, 'the routes are not read')
    const visited = Object.keys(visits).map((name) => name.split(/[ ,]/)[0])
    const missing = [...paths].filter(
      (path) => !visited.includes(path) && !(path in notPages) && !path.startsWith('/sign-in/assets/'),
    )
    assert.deepEqual(missing, [])
  })

  async function openDetails(page: Page): Promise<Page> {
    for (const summary of await page.locator('summary').all()) await summary.click()
    return page
  }
})
