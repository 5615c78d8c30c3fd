import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { freePort } from '../scripts/free-port.ts'
import { newName } from './support/api/api-fixture.ts'
import { startBrowser, waitForConsole, withoutBrowser } from './support/browser/chromium.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { newLocalAccount, PASSWORD, passwordPath } from './support/signin/local-accounts.ts'

/** Passkeys, in a browser with an authenticator that is made of software. */

const [database] = databases
if (database === undefined) throw new Error('no database')

describe('signing in with a passkey', { skip: withoutBrowser }, () => {
  let berth: TestBerth
  let chromium: Browser
  let context: BrowserContext
  let page: Page
  /** What the browser refused or failed at. */
  let complaints: string[]

  before(async () => {
    const port = await freePort()
    // Passkeys belong to a host name; localhost is the one that needs no https.
    const url = `http://localhost:${port}`
    berth = await startTestBerth(database, {
      env: { BERTH_LISTEN: `127.0.0.1:${port}`, BERTH_BASE_URL: url },
    })
    chromium = await startBrowser()
  })
  after(async () => {
    await chromium?.close()
    await berth?.stop()
  })
  beforeEach(async () => {
    context = await chromium.newContext()
    page = await context.newPage()
    complaints = []
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      if (/Content.Security.Policy|Refused/i.test(message.text())) complaints.push(message.text())
    })
  })
  afterEach(() => context.close())

  const withAuthenticator = async (isUserVerified = true): Promise<{ cdp: CDPSession; id: string }> => {
    const cdp = await context.newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const { authenticatorId: id } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified,
        automaticPresenceSimulation: true,
      },
    })
    return { cdp, id }
  }
  /** A user who has just chosen a password on this page. */
  const enter = async () => {
    const email = `${newName('ada')}@example.com`
    const account = await newLocalAccount(berth, email)
    await page.goto(berth.url + (await passwordPath(berth, account)))
    await page.fill('#password', PASSWORD)
    await page.click('text=Save password')
    await page.waitForURL(/\/account/)
    return { email, account }
  }
  const addPasskey = async (name: string) => {
    await page.fill('#passkey-name', name)
    await page.click('text=Add a passkey')
    await page.waitForURL(/done=passkey-added/)
  }
  const signOut = async () => {
    await page.click('nav >> text=Sign out')
    await page.waitForURL(/done=signed-out/)
  }
  const withPassword = async (email: string) => {
    await page.fill('#email', email)
    await page.fill('#password', PASSWORD)
    await page.click('form[action="/sign-in/password"] button:not(.reveal)')
  }

  test('a passkey can be added, sign in alone, be renamed and removed', async () => {
    await withAuthenticator()
    const { email } = await enter()
    await addPasskey('Laptop')
    await signOut()
    await page.click('text=Sign in with a passkey')
    await waitForConsole(page)
    await page.goto(`${berth.url}/account`)
    assert.ok((await page.textContent('main'))?.includes(email))
    await page.click('text=Rename')
    await page.fill('form[action="/account/passkeys/rename"] input[name="name"]', '<b>Phone</b>')
    await page.click('form[action="/account/passkeys/rename"] button')
    await page.waitForURL(/done=passkey-renamed/)
    assert.equal(await page.textContent('.list strong'), '<b>Phone</b>')
    await page.click('form[action="/account/passkeys/remove"] button')
    await page.waitForURL(/done=passkey-removed/)
    await signOut()
    await page.click('text=Sign in with a passkey')
    await page.waitForSelector('main > .alert')
    assert.match((await page.textContent('main > .alert')) ?? '', /Unknown passkey/)
    assert.deepEqual(complaints, [])
  })

  test('an account that requires a passkey cannot be signed in to with the password alone', async () => {
    const { cdp, id } = await withAuthenticator()
    const { email } = await enter()
    await addPasskey('Laptop')
    await page.click('text=Also require a passkey')
    await page.waitForURL(/done=second-factor/)
    await signOut()
    await withPassword(email)
    await page.waitForURL(/\/sign-in\/second-factor/)
    await page.goto(`${berth.url}/account`)
    assert.match(page.url(), /\/sign-in$/)
    await withPassword(email)
    await page.waitForURL(/\/sign-in\/second-factor/)
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId: id, isUserVerified: false })
    await page.click('text=Continue with your passkey')
    await page.waitForSelector('form .alert:not([hidden])')
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId: id, isUserVerified: true })
    await page.click('text=Continue with your passkey')
    await waitForConsole(page)
    assert.deepEqual(complaints, [])
  })

  test('the step between password and passkey expires after passkeyStepMs, and is bound to one browser', async () => {
    await withAuthenticator()
    const { email } = await enter()
    await addPasskey('Laptop')
    await page.click('text=Also require a passkey')
    await page.waitForURL(/done=second-factor/)
    await signOut()
    await withPassword(email)
    await page.waitForURL(/\/sign-in\/second-factor/)
    const elsewhere = await fetch(`${berth.url}/sign-in/second-factor`)
    assert.equal(elsewhere.status, 404)
    berth.advance(limits.passkeyStepMs)
    assert.equal((await page.goto(`${berth.url}/sign-in/second-factor`))?.status(), 404)
  })

  test('the response of a passkey is valid once, for the browser and the purpose of its challenge', async () => {
    await withAuthenticator()
    await enter()
    await addPasskey('Laptop')
    await signOut()
    // Kept back, to be sent where it does not belong.
    const answers: Record<string, string>[] = []
    await page.route('**/sign-in/passkey', async (route) => {
      answers.push(Object.fromEntries(new URLSearchParams(route.request().postData() ?? '')))
      await route.fulfill({ body: 'kept' })
    })
    await page.click('text=Sign in with a passkey')
    await page.waitForURL(/\/sign-in\/passkey/)
    const [kept] = answers
    assert.ok(kept?.['answer'])
    const send = async (fields: Record<string, string>, cookie: string, path = '/sign-in/passkey') =>
      fetch(berth.url + path, {
        method: 'POST',
        body: new URLSearchParams(fields),
        headers: { cookie },
        redirect: 'manual',
      })
    const cookies = async () =>
      (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
    const own = await cookies()
    const stranger = await fetch(`${berth.url}/sign-in`)
    const theirs = (stranger.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const theirToken = /name="form_token" value="([^"]+)"/.exec(await stranger.text())?.[1] ?? ''

    assert.equal((await send({ ...kept, form_token: theirToken }, theirs)).status, 401, 'another browser')
    // The first character of an Ed25519 signature is any of the alphabet, "A" as well.
    const changed = kept['answer'].replace(/(?<="signature":")./, (first) => (first === 'A' ? 'B' : 'A'))
    assert.notEqual(changed, kept['answer'])
    assert.equal((await send({ ...kept, answer: changed }, own)).status, 401, 'another signature')
    assert.equal((await send(kept, own)).status, 401, 'the question is spent')
  })

  test('a copy of a passkey, whose counter goes back, is rejected', async () => {
    await withAuthenticator()
    const { account } = await enter()
    await addPasskey('Laptop')
    const { kysely } = berth.berth.installation.store.db
    await kysely.updateTable('passkeys').set({ counter: 1000 }).where('account_id', '=', account.id).execute()
    await signOut()
    await page.click('text=Sign in with a passkey')
    await page.waitForSelector('main > .alert')
    assert.match(page.url(), /\/sign-in\/passkey/)
  })

  test('adding a passkey requires a sign-in within recentSignInMs', async () => {
    await withAuthenticator()
    await enter()
    berth.advance(limits.recentSignInMs)
    await page.fill('#passkey-name', 'Late')
    await page.click('text=Add a passkey')
    await page.waitForSelector('form .alert:not([hidden])')
    assert.match((await page.textContent('form .alert:not([hidden])')) ?? '', /Sign out and sign in again/)
  })

  test('an account has at most passkeysMax passkeys', async () => {
    const { cdp, id } = await withAuthenticator()
    const { account } = await enter()
    const { kysely } = berth.berth.installation.store.db
    await kysely
      .insertInto('passkeys')
      .values(
        Array.from({ length: limits.passkeysMax }, (_, at) => ({
          id: newName(`passkey${at}`),
          account_id: account.id,
          name: 'old',
          public_key: new Uint8Array(1),
          counter: 0,
          transports: '[]',
          created_ms: 0,
          last_used_ms: 0,
        })),
      )
      .execute()
    await page.fill('#passkey-name', 'One more')
    await page.click('text=Add a passkey')
    await page.waitForURL(/\/account\/passkeys/)
    assert.match((await page.textContent('main')) ?? '', new RegExp(`at most ${limits.passkeysMax} passkeys`))
    await cdp.send('WebAuthn.clearCredentials', { authenticatorId: id })
  })
})
